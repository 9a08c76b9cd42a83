import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization
import Testing

/// Records what a session sends to its connection.
final class RecordingTransport: SessionTransport {
    struct State {
        var frames: [[UInt8]] = []
        var closes: [CloseReason] = []
        var closeTexts: [String] = []
    }

    private let state = Mutex(State())
    private let onFrame = Mutex<(@Sendable () -> Void)?>(nil)
    private let onVerified = Mutex<(@Sendable () -> Void)?>(nil)

    func send(_ frame: [UInt8]) {
        state.withLock { $0.frames.append(frame) }
        onFrame.withLock { $0 }?()
    }

    /// Runs a closure whenever a frame is sent.
    func atFrame(_ body: @escaping @Sendable () -> Void) { onFrame.withLock { $0 = body } }

    /// Runs a closure before the welcome is sent.
    func atVerified(_ body: @escaping @Sendable () -> Void) { onVerified.withLock { $0 = body } }
    func verified() { onVerified.withLock { $0 }?() }
    func close(_ reason: CloseReason, _ text: String) {
        state.withLock { state in
            state.closes.append(reason)
            state.closeTexts.append(text)
        }
    }

    var frames: [ServerFrame] {
        get throws { try state.withLock { $0.frames }.map { try ServerFrame.decode($0) } }
    }
    var bytes: [[UInt8]] { state.withLock { $0.frames } }
    var closes: [CloseReason] { state.withLock { $0.closes } }
    var closeTexts: [String] { state.withLock { $0.closeTexts } }

    func forget() { state.withLock { $0.frames = [] } }
    /// Forgets all frames except the first ones.
    func forget(keeping count: Int) { state.withLock { $0.frames = Array($0.frames.prefix(count)) } }
}

/// Delivers every frame immediately.
final class DirectLane: ConnectionLane {
    func deliver(_ frame: [UInt8], to connections: [any Connection], except origin: Origin?) {
        for connection in connections {
            guard let session = connection as? Session, origin != Origin(session) else { continue }
            (session.transport as? RecordingTransport)?.send(frame)
        }
    }
}

/// A memory store that can run a closure right after it read a snapshot, before the reader continues.
final class InterruptingStore: MessageStore {
    private let base = MemoryStore(generation: 0x1E7)
    private let interruption = Mutex<(after: Int, body: @Sendable () throws -> Void)?>(nil)

    /// Runs the closure once, after the given number of reads.
    func interrupt(after reads: Int, _ body: @escaping @Sendable () throws -> Void) {
        interruption.withLock { $0 = (reads, body) }
    }

    /// Whether the closure has run.
    var wasInterrupted: Bool { interruption.withLock { $0 == nil } }

    var generation: UInt64 { base.generation }
    var lastCommit: Int64 { get throws { base.lastCommit } }
    var newest: Timetoken { get throws { base.newest } }

    func vacuum() -> Bool { false }

    func read<Answer>(_ body: (any StoreReader) throws -> Answer) throws -> Answer {
        let answer = try base.read(body)
        let due: (@Sendable () throws -> Void)? = interruption.withLock { interruption in
            guard let (after, body) = interruption else { return nil }
            interruption = after > 1 ? (after - 1, body) : nil
            return after > 1 ? nil : body
        }
        try due?()
        return answer
    }

    func write<Answer>(_ body: (any StoreWriter, _ commit: Int64) throws -> Answer) throws -> Answer {
        try base.write(body)
    }
}

/// Runs jobs immediately, or holds them until `release()`.
final class HoldingExecutor: Sendable {
    private struct State {
        var isHeld = false
        var jobs: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    func take(_ job: @escaping @Sendable () -> Void) {
        let isHeld = state.withLock { state in
            if state.isHeld { state.jobs.append(job) }
            return state.isHeld
        }
        if !isHeld { job() }
    }

    func hold() { state.withLock { $0.isHeld = true } }

    func release() {
        let jobs = state.withLock { state in
            state.isHeld = false
            defer { state.jobs = [] }
            return state.jobs
        }
        for job in jobs { job() }
    }
}

/// Creates sessions in a harness, and controls when tokens are verified and offloaded work is done.
final class SessionHarness: Sendable {
    let harness: EngineHarness
    let verifier = HoldingExecutor()
    /// Runs all offloaded work, except that of ``searches``.
    let offload = HoldingExecutor()
    let searches = HoldingExecutor()
    private let used = UsedPools()

    private final class UsedPools: Sendable {
        let pools = Mutex<[WorkPool]>([])
    }
    let services: SessionServices
    private let lane = DirectLane()

    init(
        _ harness: EngineHarness, limiter: RateLimiter? = nil, maximumConnections: Int? = nil,
        movesWithin: @escaping @Sendable () -> Int? = { nil }
    ) {
        self.harness = harness
        services = SessionServices(
            engine: harness.engine,
            verify: { [verifier, clock = harness.clock] token, completion in
                verifier.take { completion(Self.verify(token, now: clock.now)) }
            },
            offload: { [offload, searches, used] pool, _, job in
                used.pools.withLock { $0.append(pool) }
                (pool == .search ? searches : offload).take(job)
            }, heartbeat: 30, limiter: limiter, maximumConnections: maximumConnections,
            movesWithin: movesWithin)
    }

    /// The pools that work was offloaded to, in order.
    var usedPools: [WorkPool] { used.pools.withLock { $0 } }

    /// Verifies a token: `USER`, `USER for SECONDS`, `USER of KEY`, `admin USER`, `old` or `forged`.
    private static func verify(_ token: String, now: Date) -> SessionServices.Verified {
        let words = token.split(separator: " ").map(String.init)
        switch (words.count, words[0]) {
        case (1, "old"): return .failure(ChatError(.tokenExpired, "The token expired."))
        case (1, "forged"): return .failure(ChatError(.invalidToken, "The signature is invalid."))
        case (2, "admin"): return .success((Caller(user: UserID(known: words[1]), isAdmin: true), nil))
        case (3, let user) where words[1] == "of":
            let token = TokenSource(key: words[2], issuedAt: now)
            return .success((Caller(user: UserID(known: user), token: token), nil))
        case (3, let user):
            return .success((Caller(user: UserID(known: user)), now.addingTimeInterval(Double(words[2]) ?? 0)))
        default: return .success((Caller(user: UserID(known: words[0])), nil))
        }
    }

    /// Opens a connection without a hello.
    func connect() -> Device { Device(services, lane) }

    /// Opens a connection and sends a hello.
    func device(_ token: String, _ name: String = "phone", checkpoint: String? = nil) -> Device {
        let device = connect()
        device.hello(token, name, checkpoint: checkpoint)
        return device
    }
}

/// The client side of a session.
final class Device: Sendable {
    let session: Session
    let transport = RecordingTransport()
    private let lastRef = Mutex<Int64>(0)

    init(_ services: SessionServices, _ lane: any ConnectionLane) {
        session = Session(services: services, lane: lane, transport: transport)
    }

    func hello(_ token: String, _ device: String = "phone", checkpoint: String? = nil) {
        session.receive(HelloFrame(token: token, device: device, checkpoint: checkpoint).encoded())
    }

    func receive(_ text: String) { session.receive(Array(text.utf8)) }

    @discardableResult
    func request(_ request: any FrameRequest) -> Int64 {
        let ref = lastRef.withLock { last in
            last += 1
            return last
        }
        session.receive(request.frame(ref: ref))
        return ref
    }

    /// Returns the result of a request, parsed by `read`.
    func answer<Value>(_ ref: Int64, _ read: (inout JSONReader) throws -> Value) throws -> Value {
        for case .result(ref, let body) in try transport.frames {
            var reader = try JSONReader(body)
            return try read(&reader)
        }
        if let error = try error(ref) { throw error }
        throw ChatError(.internalError, "Request \(ref) got no answer.")
    }

    func error(_ ref: Int64?) throws -> ChatError? {
        for case .error(ref, let error) in try transport.frames { return error }
        return nil
    }

    /// The newest checkpoint that the device received, as it presents it to the server.
    var checkpoint: String? {
        get throws {
            var lineage: String?
            var newest: String?
            for bytes in transport.bytes {
                var checkpoint: String?
                let frame = try ServerFrame.decode(bytes, checkpoint: &checkpoint)
                if case .welcome(let welcome) = frame { lineage = welcome.lineage }
                newest = checkpoint ?? newest
            }
            guard let lineage, let newest else { return nil }
            return "\(lineage).\(newest)"
        }
    }

    /// The time after which messages may be lost, if the welcome has one.
    var lostAfter: Timetoken? {
        get throws {
            guard case .welcome(let welcome)? = try transport.frames.first else { return nil }
            return welcome.lostAfter
        }
    }

    /// The events that the device received, in order.
    var events: [ServerEvent] {
        get throws {
            try transport.frames.compactMap { frame in
                if case .event(let event) = frame { return event }
                return nil
            }
        }
    }

    /// The messages that the device received.
    var messages: [Message] {
        get throws {
            try events.compactMap { event in
                if case .message(let message) = event { return message }
                return nil
            }
        }
    }

    var texts: [String] { get throws { try messages.map { $0.text ?? "" } } }
    var closes: [CloseReason] { transport.closes }
    var isWelcome: Bool {
        get throws {
            if case .welcome = try transport.frames.first { return true }
            return false
        }
    }
}
