package import Foundation
package import ScrollbackModel
package import ScrollbackWire
import Synchronization

/// How a session reaches its socket.
///
/// Calls come from any thread and never block.
package protocol SessionOutlet: AnyObject, Sendable {
    func send(_ frame: [UInt8])
    func close(_ reason: CloseReason, _ text: String)
    /// About how many bytes wait for the peer to read them.
    var queuedBytes: Int { get }
}

extension SessionOutlet {
    package var queuedBytes: Int { 0 }
}

/// What a session needs besides the engine.
package struct SessionServices: Sendable {
    package typealias Verified = Result<(caller: Caller, expiresAt: Date?), ChatError>

    package var engine: Engine
    /// Checks a token, and says when it expires.
    package var verify: @Sendable (_ token: String, _ completion: @escaping @Sendable (Verified) -> Void) -> Void
    /// Carries out work that may wait for the disk.
    package var offload: @Sendable (@escaping @Sendable () -> Void) -> Void
    /// How often, in seconds, a device should be heard of.
    package var heartbeat: Int
    package var allowance: SendAllowance?
    /// Begins to remove what nobody can see any more.
    package var tidy: @Sendable () -> Void

    package init(
        engine: Engine,
        verify: @escaping @Sendable (String, @escaping @Sendable (Verified) -> Void) -> Void,
        offload: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void, heartbeat: Int = 30,
        allowance: SendAllowance? = nil, tidy: @escaping @Sendable () -> Void = {}
    ) {
        self.engine = engine
        self.verify = verify
        self.offload = offload
        self.heartbeat = heartbeat
        self.allowance = allowance
        self.tidy = tidy
    }
}

/// One device's connection: frames in, frames out, wherever the bytes come from.
///
/// Sends are queued in the order of their frames; everything else is answered when it is ready.
package final class Session: Connection {
    package let lane: any Lane
    let services: SessionServices
    package let outlet: any SessionOutlet
    let state = Mutex(State())
    /// Whose it is, from `hello` on; it stays when the session ends, since the hub finds it by it.
    ///
    /// Apart from the state: the hub asks for it under its own lock, and is told of things under the state's.
    private let owner = Mutex<UserID?>(nil)

    struct State {
        var phase = Phase.connected
        var lastHeard: Date
        var greetedAt: Date
        /// What it hears.
        ///
        /// The hub is told under this lock, so that the two never differ; the hub calls nothing under its own.
        var subscriptions: Set<ConversationID> = []
        /// How often something was taken from its user: a conversation, or places of one.
        var removals = 0
        var isActive = true
        /// Whether others may be told that its user is there.
        var sharesPresence = false
        /// Whom it wants to hear of.
        var watched: Set<UserID> = []
        /// Its questions of who is there that wait for their turn.
        var presenceQuestions = 0
        /// Whether it hears its conversations: until then frames wait, in their order.
        var isReady = false
        var waiting: [[UInt8]] = []
        var waitingBytes = 0
        /// Whether what comes is passed over: it is about to be closed.
        var isDeaf = false
        var typing = TypingGate()

        init() {
            lastHeard = Date(timeIntervalSince1970: 0)
            greetedAt = lastHeard
        }

        var isOpen: Bool {
            if case .open = phase { return true }
            return false
        }

        /// - Returns: what is to be given up, or nothing if it had ended before.
        mutating func end() -> Set<ConversationID>? {
            if case .closed = phase { return nil }
            phase = .closed
            waiting = []
            defer { subscriptions = [] }
            return subscriptions
        }

        /// - Returns: whether the frame was taken; not if too many wait.
        mutating func wait(_ frame: [UInt8], limit: Int) -> Bool {
            waitingBytes += frame.count
            guard waitingBytes <= limit, waiting.count < 1_000 else { return false }
            waiting.append(frame)
            return true
        }

        /// The frames that wait; where there are none it is ready, and later ones wait no more.
        mutating func takeWaiting() -> [[UInt8]] {
            isReady = waiting.isEmpty
            defer { waiting = [] }
            waitingBytes = 0
            return waiting
        }
    }

    enum Phase {
        /// Nothing but `hello` is expected.
        case connected
        case verifying
        case open(caller: Caller, device: String, expiresAt: Date?)
        case closed
    }

    package init(services: SessionServices, lane: any Lane, outlet: any SessionOutlet) {
        self.services = services
        self.lane = lane
        self.outlet = outlet
        state.withLock { $0.lastHeard = services.engine.clock() }
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

    // MARK: Frames

    /// Takes a frame.
    ///
    /// Called in the order of frames, on one thread at a time.
    package func receive(_ bytes: [UInt8]) {
        enum Step { case hello, request, drop, overflow }
        let now = engine.clock()
        let limit = engine.limits.frameBytes
        let step: Step = state.withLock { state in
            state.lastHeard = now
            if state.isDeaf { return .drop }
            switch state.phase {
            case .connected: return .hello
            case .open where state.isReady: return .request
            case .open, .verifying: return state.wait(bytes, limit: limit) ? .drop : .overflow
            case .closed: return .drop
            }
        }
        switch step {
        case .drop: break
        case .hello: first(bytes)
        case .request: request(bytes)
        case .overflow: shut(.tooSlow, "too much was sent before the welcome")
        }
    }

    private func first(_ bytes: [UInt8]) {
        do {
            guard case .hello(let hello) = try ClientFrame.decode(bytes, limits: engine.limits) else {
                return shut(.badToken, "the first frame must be hello")
            }
            greet(hello)
        } catch {
            shut(.badToken, "the first frame must be a valid hello")
        }
    }

    private func request(_ bytes: [UInt8]) {
        guard let caller else { return }
        do {
            guard case .request(let ref, let request) = try ClientFrame.decode(bytes, limits: engine.limits) else {
                return answer(nil, ChatError(.malformed, "hello was said already", parameter: "type"))
            }
            if let refusal = refusal(of: request.name, to: caller) { return answer(ref, refusal) }
            perform(request, ref, caller)
        } catch {
            answer(error.ref, error.error)
        }
    }

    /// Why a caller's token is not good for a request; nothing where it is.
    func refusal(of request: String, to caller: Caller) -> ChatError? {
        guard let operation = ServerOperation(request: request) else {
            return ChatError(.unknownOperation, "nobody may ask for \(request)", parameter: "type")
        }
        do {
            try operation.check(caller)
            return nil
        } catch {
            return error
        }
    }

    /// Takes no more frames; what was taken is answered.
    package func stopTaking() {
        state.withLock { $0.isDeaf = true }
    }

    /// The socket is gone.
    package func disconnected() {
        _ = end()
    }

    /// - Returns: whether it had not ended before.
    private func end() -> Bool {
        let ended = state.withLock { state in
            guard let subscriptions = state.end() else { return false }
            for id in subscriptions { hub.unsubscribe(self, from: id) }
            for user in state.watched { engine.presenceBoard.unwatch(user, by: self) }
            state.watched = []
            return true
        }
        if ended {
            hub.remove(self)
            isGone()
        }
        return ended
    }

    /// Looks after time: closes a connection whose token expired or that was not heard of for two heartbeats.
    package func tick(now: Date) {
        let reason: (CloseReason, String)? = state.withLock { state in
            if case .open(_, _, let expiresAt?) = state.phase, expiresAt <= now {
                return (.tokenExpired, "the token expired")
            }
            let silence = now.timeIntervalSince(state.lastHeard)
            return silence > Double(services.heartbeat) * 2.5 ? (.normal, "not heard of for too long") : nil
        }
        if let reason { shut(reason.0, reason.1) }
    }

    package func close(_ reason: CloseReason) {
        shut(reason, "\(reason)")
    }

    package func close(_ reason: CloseReason, _ text: String) {
        shut(reason, text)
    }

    private func shut(_ reason: CloseReason, _ text: String) {
        if end() { outlet.close(reason, text) }
    }

    // MARK: Hello

    private func greet(_ hello: ClientFrame.Hello) {
        let now = engine.clock()
        let isOpen = state.withLock { state in
            guard case .connected = state.phase else { return false }
            state.phase = .verifying
            state.greetedAt = now
            return true
        }
        guard isOpen else { return }
        services.verify(hello.token) { [self] result in
            switch result {
            case .failure(let error):
                refuse(error)
            case .success(let verified):
                if let refusal = refusal(of: "hello", to: verified.caller) { return refuse(refusal) }
                services.offload { self.open(verified.caller, hello, expiresAt: verified.expiresAt) }
            }
        }
    }

    private func open(_ caller: Caller, _ hello: ClientFrame.Hello, expiresAt: Date?) {
        let isOpen = state.withLock { state in
            guard case .verifying = state.phase else { return false }
            state.phase = .open(caller: caller, device: hello.device, expiresAt: expiresAt)
            owner.withLock { $0 = caller.user }
            state.sharesPresence = hello.sharesPresence
            state.isActive = hello.isActive
            return true
        }
        guard isOpen else { return }
        // The welcome goes before every event; requests wait until the conversations are heard.
        outlet.send(
            ServerFrame.encodeWelcome(
                .init(user: caller.user, heartbeat: services.heartbeat, limits: engine.limits)))
        let others = hub.add(self)
        // Closed meanwhile: nobody will take it out again.
        guard self.caller != nil else { return hub.remove(self) }
        for other in others {
            guard let other = other as? Session, other.device == hello.device else { continue }
            other.close(.replaced)
        }
        do {
            // What was said of them after the token was looked at, and before the hub knew whom to close.
            try engine.checkMayEnter(caller.user, issuedAt: state.withLock { $0.greetedAt })
            try hearStreams(of: caller)
        } catch let error as ChatError where error.status < 500 {
            return refuse(error)
        } catch {
            return shut(.restarting, "the store failed")
        }
        isHere()
        while case let frames = state.withLock({ $0.takeWaiting() }), !frames.isEmpty {
            for frame in frames { request(frame) }
        }
    }

    /// Says why a token is not taken: whether a fresh one would be, the code tells.
    private func refuse(_ error: ChatError) {
        switch error.code {
        case .tokenExpired: shut(.tokenExpired, error.message)
        case .userDeactivated, .banned: shut(.signedOut, "\(error)")
        case .tokenRevoked where caller != nil: shut(.signedOut, error.message)
        default: shut(.badToken, error.message)
        }
    }

    /// What an operator is shown of it; nothing before `hello`.
    package var entry: ConnectionEntry? {
        let queued = outlet.queuedBytes
        return state.withLock { state in
            guard case .open(let caller, let device, _) = state.phase else { return nil }
            return ConnectionEntry(
                user: caller.user, device: device, since: state.greetedAt, lastHeard: state.lastHeard,
                isActive: state.isActive, subscriptions: state.subscriptions.count, queuedBytes: queued)
        }
    }

    private func hearStreams(of caller: Caller) throws {
        var mark = mark()
        while try !subscribe(to: engine.streams(of: caller), since: mark) { mark = self.mark() }
    }

    private var device: String? {
        state.withLock { state in
            guard case .open(_, let device, _) = state.phase else { return nil }
            return device
        }
    }
}
