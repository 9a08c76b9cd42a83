import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackWire
import Synchronization

/// A way to the server on which some of what it says waits until a test lets it go; all else goes ahead of it.
final class HeldTransport: Transport {
    private let holdsWelcome: Bool
    private let holds: @Sendable (ClientRequest) -> Bool
    private let state = Mutex(State())

    private struct State {
        var transport: (any Transport)?
        var isHolding = false
        /// The requests whose answers may wait.
        var refs: Set<Int64> = []
        var held: [@Sendable () -> Void] = []
    }

    /// - Parameters:
    ///   - welcome: whether the server's welcome waits.
    ///   - holds: whether the answer to a request waits.
    init(welcome: Bool = false, answersTo holds: @escaping @Sendable (ClientRequest) -> Bool = { _ in false }) {
        holdsWelcome = welcome
        self.holds = holds
    }

    /// Has a client that is being configured connect by it.
    func use(in configuration: inout ChatClient.Configuration) {
        let transport = configuration.transport
        state.withLock { $0.transport = transport }
        configuration.transport = self
    }

    /// How much waits.
    var heldCount: Int { state.withLock { $0.held.count } }

    /// Begins to keep back what it is to.
    func hold() {
        state.withLock { $0.isHolding = true }
    }

    /// Lets go of what waits, in its order, and keeps nothing back any more.
    func release() {
        let held = state.withLock { state in
            state.isHolding = false
            defer { state.held = [] }
            return state.held
        }
        for tell in held { tell() }
    }

    func open(
        _ url: URL, events: @escaping @Sendable (TransportEvent) -> Void
    ) async throws(ChatError) -> any TransportConnection {
        guard let transport = state.withLock({ $0.transport }) else {
            throw ChatError(.unreachable, "no client uses this")
        }
        let connection = try await transport.open(url) { [self] event in
            if !keeps(event, events) { events(event) }
        }
        return HeldConnection(connection, transport: self)
    }

    private func keeps(_ event: TransportEvent, _ events: @escaping @Sendable (TransportEvent) -> Void) -> Bool {
        guard case .frame(let bytes) = event, let frame = try? ServerFrame.decode(bytes) else { return false }
        return state.withLock { state in
            let isMeant =
                switch frame {
                case .welcome: holdsWelcome
                case .result(let ref, _), .error(let ref?, _): state.refs.contains(ref)
                default: false
                }
            guard isMeant, state.isHolding else { return false }
            state.held.append { events(event) }
            return true
        }
    }

    fileprivate func sent(_ bytes: [UInt8]) {
        guard case .request(let ref, let request)? = try? ClientFrame.decode(bytes, limits: .standard), holds(request)
        else { return }
        state.withLock { _ = $0.refs.insert(ref) }
    }
}

/// A client's end that notes what it asks.
private final class HeldConnection: TransportConnection {
    private let connection: any TransportConnection
    private let transport: HeldTransport

    init(_ connection: any TransportConnection, transport: HeldTransport) {
        self.connection = connection
        self.transport = transport
    }

    func send(_ frame: [UInt8]) {
        transport.sent(frame)
        connection.send(frame)
    }

    func close() {
        connection.close()
    }
}
