@preconcurrency import Dispatch
import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization

/// A server in memory: the engine with a store, and its connections.
final class MemoryServer: Sendable {
    private let running: Mutex<Running>
    /// The key of the clients' checkpoints, which survives restarts.
    private let checkpointKey = Checkpoints.makeKey()
    /// The bytes of files, which survive restarts, as those in a bucket.
    private let media = MemoryMediaStore()
    private let limiter: RateLimiter?
    private let clock: @Sendable () -> Date
    /// Records the pushes.
    let services = RecordingPushGateway()
    private let pushing = Mutex<Task<Void, Never>?>(nil)
    /// Runs the periodic notifications of a server: changed channels and users who went offline.
    private let ticker: any DispatchSourceTimer
    private let state = Mutex(State())

    /// What a restart of the server replaces.
    private struct Running {
        var engine: Engine
        var sessions: SessionServices
    }

    private struct State {
        var unreachable: Set<UserID> = []
        var losesAcknowledgement: Set<UserID> = []
        var requests: [UserID: [String: Int]] = [:]
        var slow: Set<UserID> = []
        var delayed: Set<UserID> = []
        var connections: [ObjectIdentifier: MemoryConnection] = [:]
    }

    init(
        store: any MessageStore, limiter: RateLimiter? = nil, clock: @escaping @Sendable () -> Date
    ) throws {
        self.limiter = limiter
        self.clock = clock
        running = Mutex(try Self.start(store, media, services, checkpointKey, limiter, clock))
        ticker = DispatchSource.makeTimerSource(queue: .global())
        ticker.schedule(deadline: .now() + 0.05, repeating: 0.05)
        ticker.setEventHandler { [weak self] in
            guard let engine = self?.engine else { return }
            engine.hub.announceChannelHeads()
            engine.notifyWatchersOfOfflineUsers()
        }
        ticker.resume()
    }

    private static func start(
        _ store: any MessageStore, _ media: MemoryMediaStore, _ services: RecordingPushGateway, _ key: [UInt8],
        _ limiter: RateLimiter?, _ clock: @escaping @Sendable () -> Date
    ) throws -> Running {
        // A test machine may be slow, and its searches read every message.
        let engine = try Engine(
            store: store, media: media, gateway: services, checkpointKey: key, clock: clock,
            searchTime: SearchTime(limit: .seconds(3_600)))
        let sessions = SessionServices(
            engine: engine,
            verify: { token, completion in
                completion(
                    Result { (caller: Caller(user: try UserID(token), isAdmin: token == "admin"), expiresAt: nil) }
                        .mapError(ChatError.init(wrapping:)))
            },
            offload: { _, _, work in DispatchQueue.global().async(execute: work) }, limiter: limiter)
        return Running(engine: engine, sessions: sessions)
    }

    var engine: Engine { running.withLock { $0.engine } }

    /// Stops the server, and starts it with another store, such as an earlier copy of the current one.
    func restart(with store: any MessageStore) throws {
        // New connections wait for the lock, so these are all of the old server. It answers no more after the store has
        // begun a new incarnation, as a process that ended.
        try running.withLock { running in
            running.engine.commits.close()
            for connection in state.withLock({ Array($0.connections.values) }) {
                connection.drop()
                connection.waitForFramesInTransit()
            }
            running = try Self.start(store, media, services, checkpointKey, limiter, clock)
        }
    }

    deinit {
        ticker.cancel()
        pushing.withLock { $0 }?.cancel()
        engine.pushes.loop.wakeUp()
    }

    /// Starts to deliver pushes.
    func startPushing() {
        pushing.withLock { [engine] task in
            if task == nil { task = Task { await engine.runPushLoop() } }
        }
    }

    func connect(
        _ user: UserID, events: @escaping @Sendable (TransportEvent) -> Void
    ) throws(ChatError) -> MemoryConnection {
        try checkReachable(user)
        // Under the lock, so that a restart drops each connection of the old server.
        return running.withLock { running in
            let connection = MemoryConnection(server: self, user: user, services: running.sessions, events: events)
            state.withLock { $0.connections[ObjectIdentifier(connection)] = connection }
            return connection
        }
    }

    func checkReachable(_ user: UserID) throws(ChatError) {
        let isReachable = state.withLock { !$0.unreachable.contains(user) }
        guard isReachable else { throw ChatError(.unreachable, "\(user) is offline. Call goOnline first.") }
    }

    func disconnected(_ connection: MemoryConnection) {
        state.withLock { _ = $0.connections.removeValue(forKey: ObjectIdentifier(connection)) }
    }

    func setReachable(_ isReachable: Bool, for user: UserID) {
        let dropped = state.withLock { state in
            if isReachable {
                state.unreachable.remove(user)
                return [MemoryConnection]()
            }
            state.unreachable.insert(user)
            return state.connections.values.filter { $0.user == user }
        }
        for connection in dropped { connection.drop() }
        // The server has processed the disconnects when this returns, so it pushes later messages to these users.
        for connection in dropped { connection.waitForFramesInTransit() }
    }

    /// Asks a user's devices to connect again, as one of several servers does before it stops.
    func askToMove(_ user: UserID, within milliseconds: Int) {
        let connections = state.withLock { state in state.connections.values.filter { $0.user == user } }
        for connection in connections { connection.push(ServerFrame.encodeMoving(within: milliseconds)) }
    }

    func loseNextAcknowledgement(of user: UserID) {
        state.withLock { _ = $0.losesAcknowledgement.insert(user) }
    }

    /// Returns the number of history requests that a user's devices sent for a page of one conversation.
    func historyRequests(of user: UserID) -> Int {
        requests(of: user)["history"] ?? 0
    }

    /// Returns the number of requests that a user's devices sent, by request type.
    func requests(of user: UserID) -> [String: Int] {
        state.withLock { $0.requests[user] ?? [:] }
    }

    /// Returns whether frames to a user's devices are delayed.
    func isDelayed(_ user: UserID) -> Bool { state.withLock { $0.delayed.contains(user) } }

    func setDelayed(_ isDelayed: Bool, _ user: UserID) {
        state.withLock { state in
            if isDelayed { state.delayed.insert(user) } else { state.delayed.remove(user) }
        }
    }

    /// Returns whether a user's connections read too slowly.
    func isSlow(_ user: UserID) -> Bool { state.withLock { $0.slow.contains(user) } }

    func setSlow(_ isSlow: Bool, _ user: UserID) {
        let connections = state.withLock { state in
            if isSlow { state.slow.insert(user) } else { state.slow.remove(user) }
            return state.connections.values.filter { $0.user == user }
        }
        if !isSlow { for connection in connections { connection.catchUp() } }
    }

    func received(_ frame: [UInt8], from user: UserID) {
        guard frame.starts(with: Self.beginning) else { return }
        let type = String(
            decoding: frame.dropFirst(Self.beginning.count).prefix { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
        state.withLock { $0.requests[user, default: [:]][type, default: 0] += 1 }
    }

    /// The start of a client's frame, before its type.
    private static let beginning = Array(#"{"type":""#.utf8)

    /// Returns whether a frame is the acknowledgement to lose, and resets the request to lose it.
    func mustDropAcknowledgement(_ frame: [UInt8], to user: UserID) -> Bool {
        guard state.withLock({ $0.losesAcknowledgement.contains(user) }),
            case .result(_, let body)? = try? ServerFrame.decode(frame), var reader = try? JSONReader(body),
            (try? SendResult(from: &reader)) != nil
        else { return false }
        return state.withLock { $0.losesAcknowledgement.remove(user) != nil }
    }

    @discardableResult
    func perform<Answer: Sendable>(
        _ body: (Engine, @escaping Engine.Completion<Answer>) -> Void
    ) async throws(ChatError) -> Answer {
        let result: Result<Answer, ChatError> = await withCheckedContinuation { continuation in
            body(engine) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }
}
