package import Foundation
package import ScrollbackModel
package import ScrollbackWire
import Synchronization

/// The socket of a session.
///
/// Methods are called on any thread and must not block.
package protocol SessionTransport: AnyObject, Sendable {
    func send(_ frame: [UInt8])
    func close(_ reason: CloseReason, _ text: String)
    /// Lifts the bounds for unknown clients, because the server has verified the client's token.
    func verified()
    /// Records that a rate limit refused a request, so that the transport can slow down the client.
    func refused()
    /// Records a request that has no rate limit.
    func pinged()
    /// The approximate number of bytes that wait for the peer to read them.
    var queuedBytes: Int { get }
}

extension SessionTransport {
    package func verified() {}
    package func refused() {}
    package func pinged() {}
    package var queuedBytes: Int { 0 }
}

/// The services that a session needs besides the engine.
package struct SessionServices: Sendable {
    package typealias Verified = Result<(caller: Caller, expiresAt: Date?), ChatError>

    package var engine: Engine
    /// Verifies a token, and completes with the caller and the time when the token expires.
    package var verify: @Sendable (_ token: String, _ completion: @escaping @Sendable (Verified) -> Void) -> Void
    /// Runs work that may block on the disk.
    package var offload: PoolOffload
    /// The heartbeat interval, in seconds.
    package var heartbeat: Int
    package var limiter: RateLimiter?
    /// The maximum number of open connections of one user, or `nil` for no limit.
    ///
    /// Administrators are exempt.
    package var maximumConnections: Int?
    /// Returns the time in milliseconds in which clients must connect to another server, or `nil` if this one goes on.
    package var movesWithin: @Sendable () -> Int?
    /// Starts the removal of rows that no user can see.
    package var startCleanup: @Sendable () -> Void

    package init(
        engine: Engine,
        verify: @escaping @Sendable (String, @escaping @Sendable (Verified) -> Void) -> Void,
        offload: @escaping PoolOffload, heartbeat: Int = 30,
        limiter: RateLimiter? = nil, maximumConnections: Int? = nil,
        movesWithin: @escaping @Sendable () -> Int? = { nil },
        startCleanup: @escaping @Sendable () -> Void = {}
    ) {
        self.engine = engine
        self.verify = verify
        self.offload = offload
        self.heartbeat = heartbeat
        self.limiter = limiter
        self.maximumConnections = maximumConnections
        self.movesWithin = movesWithin
        self.startCleanup = startCleanup
    }
}

/// The connection of one device, independent of the transport.
///
/// Send requests are queued in the order of their frames; other requests are answered as they complete.
package final class Session: Connection {
    /// The maximum number of bytes that a client can send before the server has verified its token.
    package static let maximumBytesBeforeWelcome = 16 << 10
    /// The time in which a client must send `hello`, in seconds.
    package static let helloTimeout: TimeInterval = 10

    package let lane: any Lane
    let services: SessionServices
    package let transport: any SessionTransport
    /// The place of the connection in the order in which connections were accepted.
    private let number: Int
    let state = Mutex(State())
    /// The user, set by `hello`; it stays set after the session ends, because the hub finds the session by it.
    ///
    /// It has its own lock because the hub reads it under the hub's lock, while the session calls the hub under the
    /// state's lock.
    private let owner = Mutex<UserID?>(nil)

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
        /// The number of times that the user's access to a conversation, or to part of it, was reduced.
        var userAccessReductions = 0
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

    package init(services: SessionServices, lane: any Lane, transport: any SessionTransport) {
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

    package var user: UserID { owner.withLock { $0 } ?? UserID(known: "nobody") }

    private var caller: Caller? {
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

    private func receiveHello(_ bytes: [UInt8]) {
        guard bytes.count <= Self.maximumBytesBeforeWelcome else {
            return terminate(.frameTooLarge, "A hello can have at most \(Self.maximumBytesBeforeWelcome) bytes.")
        }
        do throws(ChatError) {
            authenticate(try HelloFrame(bytes, limits: engine.limits))
        } catch {
            terminate(.badToken, "The first frame must be a valid hello.")
        }
    }

    private func request(_ bytes: [UInt8]) {
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
        perform(operation, frame, caller)
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

    private func perform(_ operation: any Executable.Type, _ frame: RequestFrame, _ caller: Caller) {
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
            request.start(context) { [self] result in answer(ref, result) { $1.writeMembers(to: &$0) } }
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
        if ended {
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

    private func terminate(_ reason: CloseReason, _ text: String) {
        if end() { transport.close(reason, text) }
    }

    // MARK: Hello

    private func authenticate(_ hello: HelloFrame) {
        let now = engine.clock()
        let isOpen = state.withLock { state in
            guard case .connected = state.phase else { return false }
            state.phase = .verifying
            state.helloReceivedAt = now
            return true
        }
        guard isOpen else { return }
        services.verify(hello.token) { [self] result in
            switch result {
            case .failure(let error):
                refuse(error)
            case .success(let verified):
                do throws(ChatError) {
                    try AccessRule.connect.check(verified.caller)
                } catch {
                    return refuse(error)
                }
                services.offload(.admission, WorkOwner(verified.caller)) {
                    self.open(verified.caller, hello, expiresAt: verified.expiresAt)
                }
            }
        }
    }

    /// Opens the session, unless the client has seen more than the store has.
    private func open(_ caller: Caller, _ hello: HelloFrame, expiresAt: Date?) {
        let finding: Checkpoints.Finding
        let lineage: String
        do {
            // Another node may have begun the incarnation that the client has seen.
            try engine.catchUp()
            (finding, lineage) = try engine.checkpoints.check(hello.checkpoint)
        } catch {
            return terminate(.restarting, "The store failed. Reconnect later.")
        }
        switch finding {
        case .consistent: open(caller, hello, expiresAt: expiresAt, lostAfter: nil, on: lineage)
        case .earlierGeneration(let lostAfter):
            open(caller, hello, expiresAt: expiresAt, lostAfter: lostAfter, on: lineage)
        case .rolledBack(let rollback):
            engine.recover(from: rollback) { [self] _ in
                terminate(.restarting, "The server's store went back to an earlier state. Reconnect and synchronize.")
            }
        }
    }

    /// - Parameter lineage: The lineage of the store for which `lostAfter` is right.
    private func open(
        _ caller: Caller, _ hello: HelloFrame, expiresAt: Date?, lostAfter: Timetoken?, on lineage: String
    ) {
        let isOpen = state.withLock { state in
            guard case .verifying = state.phase else { return false }
            state.phase = .open(caller: caller, device: hello.device, expiresAt: expiresAt)
            state.lineage = lineage
            owner.withLock { $0 = caller.user }
            state.sharesPresence = hello.sharesPresence
            state.isActive = hello.isActive
            return true
        }
        guard isOpen else { return }
        // Clients reset their delay between attempts when they receive the welcome, so check the limit before it.
        guard isWithinLimit(among: hub.connections(of: caller.user), caller) else { return }
        transport.verified()
        // The welcome precedes every event; requests wait until the session is subscribed to its conversations.
        transport.send(
            ServerFrame.encodeWelcome(
                .init(
                    user: caller.user, heartbeat: services.heartbeat, limits: engine.limits, lineage: lineage,
                    lostAfter: lostAfter)))
        // If a new incarnation began after the check, nothing else would close the session.
        guard let others = hub.add(self, if: { engine.checkpoints.lineage == lineage }) else {
            return terminate(.restarting, Engine.newIncarnationReason)
        }
        // If the session ended in the meantime, nothing else would remove it from the hub.
        guard self.caller != nil else { return hub.remove(self) }
        // Several connections may have passed the first check at the same time.
        guard isWithinLimit(among: others, caller) else { return }
        for other in others {
            guard let other = other as? Session, other.device == hello.device else { continue }
            // The device gave up this connection before it opened the other one, whose hello was processed first.
            guard other.number < number else { return close(.replaced) }
            other.close(.replaced)
        }
        do {
            // Detects bans and revocations after the token was verified and before the hub could close the session.
            try engine.checkAccount(of: caller.user, tokenIssuedAt: state.withLock { $0.helloReceivedAt })
            try subscribeToStreams(of: caller)
        } catch let error as ChatError where error.status < 500 {
            return refuse(error)
        } catch {
            return terminate(.restarting, "The store failed. Reconnect later.")
        }
        reportOnline()
        engine.connectionOpened(by: caller.user, hello.device)
        while case let frames = state.withLock({ $0.takeWaiting() }), !frames.isEmpty {
            for frame in frames { request(frame) }
        }
        // The server may have asked the other clients before this one was ready.
        askToMove()
    }

    /// Closes the connection if its user has too many, not counting one that this connection replaces.
    ///
    /// The new connection is closed, and not the oldest one, because that one would connect again and displace another.
    private func isWithinLimit(among others: [any Connection], _ caller: Caller) -> Bool {
        guard let limit = services.maximumConnections, !caller.isAdmin else { return true }
        guard others.count(where: { ($0 as? Session)?.device != device }) >= limit else { return true }
        terminate(.tooManyConnections, "\(caller.user) has reached the limit of \(limit) connections.")
        return false
    }

    /// Closes the connection with the reason why a token was refused; the code shows whether a new token would help.
    private func refuse(_ error: ChatError) {
        switch error.code {
        case .tokenExpired: terminate(.tokenExpired, error.message)
        case .userDeactivated, .banned: terminate(.signedOut, "\(error)")
        case .tokenRevoked where caller != nil: terminate(.signedOut, error.message)
        // The token may be valid.
        case _ where error.isTemporary: terminate(.restarting, error.message)
        default: terminate(.badToken, error.message)
        }
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

    private func subscribeToStreams(of caller: Caller) throws {
        var isSubscribed = false
        while !isSubscribed {
            let checkpoint = checkpoint()
            let conversations = try engine.automaticSubscriptions(of: caller)
            try engine.catchUp()
            isSubscribed = try subscribe(to: conversations, since: checkpoint)
        }
    }

    private var device: String? {
        state.withLock { state in
            guard case .open(_, let device, _) = state.phase else { return nil }
            return device
        }
    }
}
