import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackServer
import ScrollbackWire
import Synchronization

/// A minimal WebSocket client, so that benchmarks measure mostly the server.
final class LoadClient: Sendable {
    private let connection: any TransportConnection
    private let state: Mutex<State>

    private struct State {
        var replies: [Int64: @Sendable ([UInt8]) -> Void] = [:]
        var welcome: (@Sendable () -> Void)?
        var lastRef: Int64 = 0
    }

    /// Connects and waits for the welcome frame.
    ///
    /// - Parameter onEvent: Called with every frame that is not a response.
    init(
        _ address: URL, token: String, device: String, onEvent: @escaping @Sendable ([UInt8]) -> Void = { _ in }
    ) async throws {
        let shared = Shared(onEvent: onEvent)
        connection = try await NIOTransport().open(address) { shared.handle($0) }
        state = Mutex(State())
        shared.attach(self)
        await withCheckedContinuation { continuation in
            state.withLock { $0.welcome = { continuation.resume() } }
            connection.send(HelloFrame(token: token, device: device).encoded())
        }
    }

    fileprivate func received(_ frame: [UInt8], _ onEvent: @Sendable ([UInt8]) -> Void) {
        // Parse only the beginning of the frame. The server writes the required members first.
        if frame.starts(with: Array(#"{"type":"result","ref":"#.utf8)) {
            var ref: Int64 = 0
            for byte in frame[23...] {
                guard (0x30...0x39).contains(byte) else { break }
                ref = ref * 10 + Int64(byte - 0x30)
            }
            let number = ref
            let reply = state.withLock { $0.replies.removeValue(forKey: number) }
            reply?(frame)
        } else if frame.starts(with: Array(#"{"type":"welcome""#.utf8)) {
            let welcome = state.withLock { state in
                defer { state.welcome = nil }
                return state.welcome
            }
            welcome?()
        } else if frame.starts(with: Array(#"{"type":"error""#.utf8)) {
            fatalError(String(decoding: frame, as: UTF8.self))
        } else {
            onEvent(frame)
        }
    }

    func request(_ request: any FrameRequest, reply: @escaping @Sendable ([UInt8]) -> Void) {
        let ref = state.withLock { state in
            state.lastRef += 1
            state.replies[state.lastRef] = reply
            return state.lastRef
        }
        connection.send(request.frame(ref: ref))
    }

    func request(_ request: any FrameRequest) async -> [UInt8] {
        await withCheckedContinuation { continuation in
            self.request(request) { continuation.resume(returning: $0) }
        }
    }

    func close() { connection.close() }
}

/// Passes frames to the client, which is created after the connection.
private final class Shared: Sendable {
    private let client = Mutex<LoadClient?>(nil)
    private let onEvent: @Sendable ([UInt8]) -> Void

    init(onEvent: @escaping @Sendable ([UInt8]) -> Void) {
        self.onEvent = onEvent
    }

    func attach(_ client: LoadClient) {
        self.client.withLock { $0 = client }
    }

    func handle(_ event: TransportEvent) {
        guard case .frame(let frame) = event else { return }
        client.withLock { $0 }?.received(frame, onEvent)
    }
}

/// Creates tokens for a server's users with the secret of its data directory.
struct Tokens {
    private let service: TokenService

    init(_ directory: URL) async throws {
        service = try await TokenService(directory: directory)
    }

    func token(_ user: UserID, lifetime: TimeInterval = 3600) async throws -> String {
        try await service.token(for: user, isAdmin: false, lifetime: lifetime)
    }

    func admin(lifetime: TimeInterval = 3600) async throws -> String {
        try await service.token(for: "admin", isAdmin: true, lifetime: lifetime)
    }
}
