package import Foundation
package import ScrollbackModel
package import ScrollbackWire
import Synchronization

/// The connection of one device, independent of the transport.
///
/// Send requests are queued in the order of their frames; other requests are answered as they complete.
package final class Session: Connection {
    /// The maximum number of bytes that a client can send before the server has verified its token.
    package static let maximumBytesBeforeWelcome = 16 << 10
    /// The time in which a client must send `hello`, in seconds.
    package static let helloTimeout: TimeInterval = 10

    package let lane: any ConnectionLane
    let services: SessionServices
    package let transport: any SessionTransport
    /// The place of the connection in the order in which connections were accepted.
    let number: Int
    let state = Mutex(State())
    /// The user, set by `hello`; it stays set after the session ends, because the hub finds the session by it.
    ///
    /// It has its own lock because the hub reads it under the hub's lock, while the session calls the hub under the
    /// state's lock.
    let owner = Mutex<UserID?>(nil)

    struct State {
        var phase = Phase.connected
        /// The lineage of the store that the client knows from the welcome.
        var lineage = ""
        var connectedAt: Date
        var lastReceivedAt: Date
        var helloReceivedAt: Date
        /// The conversations to which the session is subscribed.
        ///
        /// The hub is updated under this lock, so that both always agree; the hub makes no calls under its own lock.
        var subscriptions: Set<ConversationID> = []
        /// A counter that increases whenever the user's access to a conversation, or to part of it, is reduced.
        var userAccessVersion = 0
        var isActive = true
        /// Whether the user's presence is shared with others.
        var sharesPresence = false
        /// The users whose presence the client watches.
        var watched: Set<UserID> = []
        /// The number of presence requests that wait for their turn.
        var pendingPresenceRequests = 0
        /// Whether the session is subscribed to its conversations; until then, frames wait in order.
        var isReady = false
        var waiting: [[UInt8]] = []
        var waitingBytes = 0
        /// Whether incoming frames are ignored, because the connection is about to close.
        var ignoresInput = false
        var typing = TypingThrottle()

        init() {
            connectedAt = Date(timeIntervalSince1970: 0)
            lastReceivedAt = connectedAt
            helloReceivedAt = connectedAt
        }

        var isOpen: Bool {
            if case .open = phase { return true }
            return false
        }

        /// Ends the session.
        ///
        /// - Returns: The conversations to unsubscribe from, or `nil` if the session had already ended.
        mutating func end() -> Set<ConversationID>? {
            if case .closed = phase { return nil }
            phase = .closed
            waiting = []
            defer { subscriptions = [] }
            return subscriptions
        }

        /// Queues a frame until the session is ready.
        ///
        /// - Returns: Whether the frame was queued; `false` if too many frames wait.
        mutating func wait(_ frame: [UInt8], limit: Int) -> Bool {
            waitingBytes += frame.count
            guard waitingBytes <= limit, waiting.count < 1_000 else { return false }
            waiting.append(frame)
            return true
        }

        /// Returns the queued frames; if there are none, the session becomes ready and later frames are not queued.
        mutating func takeWaiting() -> [[UInt8]] {
            isReady = waiting.isEmpty
            defer { waiting = [] }
            waitingBytes = 0
            return waiting
        }
    }

    enum Phase {
        /// Only `hello` is accepted.
        case connected
        case verifying
        case open(caller: Caller, device: String, expiresAt: Date?)
        case closed
    }

    package init(services: SessionServices, lane: any ConnectionLane, transport: any SessionTransport) {
        self.services = services
        self.lane = lane
        self.transport = transport
        number = services.engine.hub.nextConnectionNumber()
        let now = services.engine.clock()
        state.withLock { state in
            state.connectedAt = now
            state.lastReceivedAt = now
        }
    }

    var engine: Engine { services.engine }
    var hub: Hub { services.engine.hub }

    /// The user, or before `hello` an empty ID, which no user can have.
    package var user: UserID { owner.withLock { $0 } ?? UserID(known: "") }

    var caller: Caller? {
        state.withLock { state in
            guard case .open(let caller, _, _) = state.phase else { return nil }
            return caller
        }
    }

    /// The ID of the key that signed the token, if the session is open and the token has one.
    var tokenKey: String? { caller?.token?.key }

    // MARK: Frames

    /// Processes a frame.
    ///
    /// Call this in the order of frames, on one thread at a time.
    package func receive(_ bytes: [UInt8]) {
        enum Step { case hello, request, drop, overflow }
        let now = engine.clock()
        let frameBytes = engine.limits.frameBytes
        let step: Step = state.withLock { state in
            state.lastReceivedAt = now
            if state.ignoresInput { return .drop }
            switch state.phase {
            case .connected: return .hello
            case .open where state.isReady: return .request
            case .open: return state.wait(bytes, limit: frameBytes) ? .drop : .overflow
            case .verifying: return state.wait(bytes, limit: Self.maximumBytesBeforeWelcome) ? .drop : .overflow
            case .closed: return .drop
            }
        }
        switch step {
        case .drop: break
        case .hello: receiveHello(bytes)
        case .request: request(bytes)
        case .overflow: terminate(.frameTooLarge, "The client sent too much data before it received the welcome.")
        }
    }

    func request(_ bytes: [UInt8]) {
        guard let caller else { return }
        let frame: RequestFrame
        do throws(RequestError) {
            frame = try RequestFrame(bytes)
        } catch {
            return answer(error.ref, invalid: error.error, caller)
        }
        guard let operation = OperationRegistry.operation(frame: frame.type) else {
            if frame.type == HelloFrame.type {
                let error = ChatError(.malformed, "The connection has already sent hello.", parameter: "type")
                return answer(nil, invalid: error, caller)
            }
            let error = ChatError(.unknownOperation, "There is no request \"\(frame.type)\".", parameter: "type")
            return answer(frame.ref, invalid: error, caller)
        }
        execute(operation, frame, caller)
    }

    /// Answers a frame that names no operation.
    ///
    /// It counts as a read, because reading the frame is work too.
    private func answer(_ ref: Int64?, invalid error: ChatError, _ caller: Caller) {
        do throws(ChatError) {
            try takeTokens(1, .read, caller)
            answer(ref, error)
        } catch {
            answer(ref, error)
        }
    }

    private func execute(_ operation: any Executable.Type, _ frame: RequestFrame, _ caller: Caller) {
        do throws(ChatError) {
            var reader = RequestReader(frame: frame.members, limits: engine.limits)
            let cost = operation.endpoint.cost
            let request: any Executable
            do throws(ChatError) {
                request = try operation.init(from: &reader)
            } catch {
                // Reading a request that is wrong is work too.
                try takeTokens(1, cost, caller)
                throw error
            }
            // First, because refusing a request is work too.
            try takeTokens(request.tokens, cost, caller)
            let ref = try frame.ref.required("ref")
            try operation.endpoint.access.check(caller)
            let context = OperationContext(
                engine: engine, caller: caller, session: self,
                offload: { [services] work in services.offload(cost.pool, WorkOwner(caller), work) },
                startCleanup: services.startCleanup)
            request.executeErased(context) { [self] result in answer(ref, result) { $1.writeMembers(to: &$0) } }
        } catch {
            answer(frame.ref, error)
        }
    }

    private func takeTokens(_ count: Int, _ cost: CostClass, _ caller: Caller) throws(ChatError) {
        if cost == .free { return transport.pinged() }
        guard let refusal = services.limiter?.take(caller, cost, tokens: count, now: engine.clock()) else { return }
        transport.refused()
        throw refusal
    }

    /// Ignores further frames; requests that were already received are still answered.
    package func ignoreInput() {
        state.withLock { $0.ignoresInput = true }
    }

    /// Asks the client to connect to another server, if this one stops soon and the session is ready.
    package func askToMove() {
        guard state.withLock({ $0.isOpen && $0.isReady }), let milliseconds = services.movesWithin() else { return }
        transport.send(ServerFrame.encodeMoving(within: milliseconds))
    }

    /// Ends the session after its socket was closed.
    package func disconnected() {
        _ = end()
    }

    /// Ends the session.
    ///
    /// - Returns: Whether this call ended the session; `false` if it had already ended.
    private func end() -> Bool {
        let ended = state.withLock { state in
            guard let subscriptions = state.end() else { return false }
            for id in subscriptions { hub.unsubscribe(self, from: id) }
            for user in state.watched { engine.presenceTracker.unwatch(user, by: self) }
            state.watched = []
            return true
        }
        // Without a user, neither the hub nor the other nodes know of the connection.
        if ended, let user = owner.withLock({ $0 }) {
            hub.remove(self)
            reportOffline()
            engine.connectionsChanged(of: user)
        }
        return ended
    }

    /// Closes the connection if no hello arrived in time, if its token expired, or if no frame arrived for 2.5
    /// heartbeat intervals.
    package func tick(now: Date) {
        let reason: (CloseReason, String)? = state.withLock { state in
            if case .open(_, _, let expiresAt?) = state.phase, expiresAt <= now {
                return (.tokenExpired, "The token expired.")
            }
            if case .connected = state.phase, now.timeIntervalSince(state.connectedAt) >= Self.helloTimeout {
                return (.badToken, "The client sent no hello within \(Int(Self.helloTimeout)) seconds.")
            }
            let silence = now.timeIntervalSince(state.lastReceivedAt)
            return silence > Double(services.heartbeat) * 2.5 ? (.normal, "The connection was idle for too long.") : nil
        }
        if let reason { terminate(reason.0, reason.1) }
    }

    package func close(_ reason: CloseReason) {
        terminate(reason, "\(reason)")
    }

    package func close(_ reason: CloseReason, _ text: String) {
        terminate(reason, text)
    }

    func terminate(_ reason: CloseReason, _ text: String) {
        if end() { transport.close(reason, text) }
    }

    /// The entry for the administrators' list of connections; `nil` before `hello`.
    package var entry: ConnectionEntry? {
        let queued = transport.queuedBytes
        return state.withLock { state in
            guard case .open(let caller, let device, _) = state.phase else { return nil }
            return ConnectionEntry(
                user: caller.user, device: device, since: state.helloReceivedAt, lastReceivedAt: state.lastReceivedAt,
                isActive: state.isActive, subscriptions: state.subscriptions.count, queuedBytes: queued)
        }
    }

    var device: String? {
        state.withLock { state in
            guard case .open(_, let device, _) = state.phase else { return nil }
            return device
        }
    }
}
