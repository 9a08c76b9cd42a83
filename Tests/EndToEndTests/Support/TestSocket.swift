import Foundation
import Scrollback
import ScrollbackModel
import Synchronization
import TestSupport

/// A WebSocket that uses the SDK's transport and sends and receives raw frames.
///
/// It sends pings as every client does, so the server doesn't close it when a test is slow.
final class TestSocket: Sendable {
    private let inbox: Inbox
    private let connection: any TransportConnection
    private let heart: PingTimer
    private let references = Atomic<Int>(1)

    private final class Inbox: Sendable {
        let state = Mutex<(frames: [Members], closure: TransportClosure?)>(([], nil))

        func take(_ event: TransportEvent) {
            state.withLock { state in
                switch event {
                case .frame(let bytes):
                    let frame = Members(bytes)
                    if frame.int("ref") != PingTimer.ref { state.frames.append(frame) }
                case .closed(let closure): state.closure = closure
                }
            }
        }
    }

    private init(_ connection: any TransportConnection, _ inbox: Inbox) {
        self.connection = connection
        self.inbox = inbox
        heart = PingTimer(connection)
    }

    deinit { connection.close() }

    /// Opens a connection that has sent no frame.
    static func open(_ url: URL, trusting certificate: URL? = nil) async throws -> TestSocket {
        let inbox = Inbox()
        let connection = try await NIOTransport(trusting: certificate).open(url) { inbox.take($0) }
        return TestSocket(connection, inbox)
    }

    /// Opens a connection, waits for the welcome and then until the server has subscribed it to events.
    static func signedIn(
        _ server: RunningServer, _ user: UserID, token: String? = nil, device: String = UUID().uuidString
    ) async throws -> TestSocket {
        let socket = try await open(server.url)
        let own = if let token { token } else { try await server.token(user) }
        socket.send(#"{"type":"hello","token":"\#(own)","device":"\#(device)"}"#)
        _ = try await socket.next { $0.string("type") == "welcome" }
        // The server sends the welcome before it subscribes the connection. It answers requests only afterwards.
        _ = try await socket.request(#""type":"ping""#)
        return socket
    }

    func send(_ frame: String) { connection.send(Array(frame.utf8)) }
    func close() { connection.close() }

    /// Returns the first matching frame and drops the frames before it.
    func next(within seconds: Double = 90, _ isWanted: (Members) -> Bool = { _ in true }) async throws -> Members {
        try await eventually("a frame arrives", within: seconds) {
            try self.inbox.state.withLock { state in
                while !state.frames.isEmpty {
                    let frame = state.frames.removeFirst()
                    if isWanted(frame) { return frame }
                }
                if let closure = state.closure {
                    throw ChildProcess.Failure(description: "closed with \(closure.code ?? 0) \(closure.reason)")
                }
                return nil
            }
        }
    }

    /// Sends a request and returns its result or error.
    ///
    /// - Parameter members: The JSON members of the request, except `ref`.
    func request(_ members: String) async throws -> Members {
        let reference = references.wrappingAdd(1, ordering: .relaxed).newValue
        send(#"{"ref":\#(reference),\#(members)}"#)
        return try await next { $0.int("ref") == reference }
    }

    /// Waits until the server closes the connection, and returns the close code.
    func closed(within seconds: Double = 90) async throws -> Int? {
        try await eventually("the connection is closed", within: seconds) {
            self.inbox.state.withLock { $0.closure }
        }.code
    }

    /// The received frames that no call has returned or dropped.
    var frames: [Members] { inbox.state.withLock { $0.frames } }
}
