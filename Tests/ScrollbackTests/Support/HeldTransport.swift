import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackWire
import Synchronization

/// A transport that can hold back some frames until a test releases them. Other frames pass the held ones.
final class HeldTransport: Transport {
    private let holdsWelcome: Bool
    private let holdsRequest: @Sendable (RequestFrame) -> Bool
    private let holds: @Sendable (RequestFrame) -> Bool
    private let state = Mutex(State())

    private struct State {
        var transport: (any Transport)?
        /// Delivers a frame to the newest connection.
        var deliver: (@Sendable ([UInt8]) -> Void)?
        var isHolding = false
        /// The requests whose answers can be held.
        var refs: Set<Int64> = []
        var held: [@Sendable () -> Void] = []
    }

    /// - Parameters:
    /// - welcome: Whether to hold the server's welcome.
    /// - holds: Returns whether to hold the answer to a request.
    /// - holdsRequest: Returns whether to hold a request.
    init(
        welcome: Bool = false, answersTo holds: @escaping @Sendable (RequestFrame) -> Bool = { _ in false },
        requests holdsRequest: @escaping @Sendable (RequestFrame) -> Bool = { _ in false }
    ) {
        holdsWelcome = welcome
        self.holdsRequest = holdsRequest
        self.holds = holds
    }

    /// Makes a client that is being configured use this transport.
    func use(in configuration: inout ChatClient.Configuration) {
        let transport = configuration.transport
        state.withLock { $0.transport = transport }
        configuration.transport = self
    }

    /// The number of held frames.
    var heldCount: Int { state.withLock { $0.held.count } }

    /// Starts to hold frames.
    func hold() {
        state.withLock { $0.isHolding = true }
    }

    /// Delivers the held frames in order, and stops holding.
    func release() {
        let held = state.withLock { state in
            state.isHolding = false
            defer { state.held = [] }
            return state.held
        }
        for tell in held { tell() }
    }

    /// Delivers a frame that the server did not send.
    func deliver(_ frame: [UInt8]) {
        state.withLock { $0.deliver }?(frame)
    }

    func open(
        _ url: URL, events: @escaping @Sendable (TransportEvent) -> Void
    ) async throws(ChatError) -> any TransportConnection {
        state.withLock { $0.deliver = { events(.frame($0)) } }
        guard let transport = state.withLock({ $0.transport }) else {
            throw ChatError(.unreachable, "No client uses this transport.")
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

    /// Sends a request through a connection, or holds it.
    fileprivate func send(_ bytes: [UInt8], through connection: any TransportConnection) {
        let isHeld = state.withLock { state in
            guard let frame = try? RequestFrame(bytes), let ref = frame.ref else { return false }
            if holds(frame) { state.refs.insert(ref) }
            guard state.isHolding, holdsRequest(frame) else { return false }
            state.held.append { connection.send(bytes) }
            return true
        }
        if !isHeld { connection.send(bytes) }
    }
}

/// A client's connection that lets the transport hold requests.
private final class HeldConnection: TransportConnection {
    private let connection: any TransportConnection
    private let transport: HeldTransport

    init(_ connection: any TransportConnection, transport: HeldTransport) {
        self.connection = connection
        self.transport = transport
    }

    func send(_ frame: [UInt8]) {
        transport.send(frame, through: connection)
    }

    func close() {
        connection.close()
    }
}
