import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackWire
import Synchronization

/// A transport that loses the first answer to changes, together with the connection.
///
/// The server has made such a change, and the client can't know it. It sends the change again on the next connection.
final class LossyTransport: Transport {
    /// The types of the requests that change something on the server.
    private static let changes: Set<String> = [
        "send", "edit", "delete", "action", "removeAction", "clear", "schedule", "thread", "putConversation",
        "deleteConversation", "putUser", "putMember", "removeMember", "putDraft", "read", "readMany", "settings",
        "notifications", "markUnread", "removeRecent", "addRecent", "stopRoaming",
    ]

    private struct State {
        var transport: (any Transport)?
        /// The changes that were answered, without the numbers of their requests.
        var answered: Set<String> = []
        var lostCount = 0
    }

    private let interval: Int
    private let state = Mutex(State())

    /// - Parameter interval: The number of changes of which the last one loses its answer.
    init(every interval: Int = 1) {
        self.interval = interval
    }

    /// Makes a client that is being configured use this transport.
    func use(in configuration: inout ChatClient.Configuration) {
        let transport = configuration.transport
        state.withLock { $0.transport = transport }
        configuration.transport = self
    }

    /// The number of changes whose first answer was lost.
    var lostCount: Int { state.withLock { $0.lostCount } }

    func open(
        _ url: URL, events: @escaping @Sendable (TransportEvent) -> Void
    ) async throws(ChatError) -> any TransportConnection {
        guard let transport = state.withLock({ $0.transport }) else {
            throw ChatError(.unreachable, "No client uses this transport.")
        }
        let line = Line()
        let connection = try await transport.open(url) { [self] event in
            guard case .frame(let bytes) = event, loses(bytes, on: line) else { return events(event) }
            line.close()
            // With this code, clients reconnect at once.
            events(.closed(TransportClosure(code: 4008, reason: "The answer was lost.")))
        }
        line.use(connection)
        return LossyConnection(line)
    }

    /// Returns whether a frame is an answer to lose.
    private func loses(_ bytes: [UInt8], on line: Line) -> Bool {
        guard case .result(let ref, _)? = try? ServerFrame.decode(bytes), let change = line.change(ref) else {
            return false
        }
        return state.withLock { state in
            guard state.answered.insert(change).inserted, state.answered.count.isMultiple(of: interval) else {
                return false
            }
            state.lostCount += 1
            return true
        }
    }

    /// One connection and the changes that were sent on it.
    private final class Line: Sendable {
        private struct State {
            var connection: (any TransportConnection)?
            var changes: [Int64: String] = [:]
        }

        private let state = Mutex(State())

        func use(_ connection: any TransportConnection) {
            state.withLock { $0.connection = connection }
        }

        func change(_ ref: Int64) -> String? { state.withLock { $0.changes[ref] } }

        func send(_ bytes: [UInt8]) {
            if let frame = try? RequestFrame(bytes), let ref = frame.ref, LossyTransport.changes.contains(frame.type) {
                let text = String(decoding: bytes, as: UTF8.self).replacing("\"ref\":\(ref)", with: "")
                state.withLock { $0.changes[ref] = text }
            }
            state.withLock { $0.connection }?.send(bytes)
        }

        func close() {
            state.withLock { $0.connection }?.close()
        }
    }

    private final class LossyConnection: TransportConnection {
        private let line: Line

        init(_ line: Line) {
            self.line = line
        }

        func send(_ frame: [UInt8]) { line.send(frame) }
        func close() { line.close() }
    }
}
