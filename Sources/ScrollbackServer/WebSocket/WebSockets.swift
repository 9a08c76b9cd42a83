import Foundation
import NIOCore
import NIOPosix
import ScrollbackEngine
import ScrollbackModel
import Synchronization

/// The open WebSockets and their lanes.
final class WebSockets: Sendable {
    private let scope: RequestScope
    private let options: ServerOptions
    private let budget: OutboundBudget
    private let state = Mutex(State())

    private struct State {
        var lanes: [ObjectIdentifier: EventLoopLane] = [:]
        var sessions: [ObjectIdentifier: Session] = [:]
        var isClosing = false
        /// The end of the time in which clients must connect to another node.
        var moveEnd: ContinuousClock.Instant?
    }

    init(scope: RequestScope, options: ServerOptions, budget: OutboundBudget) {
        self.scope = scope
        self.budget = budget
        self.options = options
    }

    /// Creates the handlers and the session of a new WebSocket.
    ///
    /// Must be called on the socket's event loop.
    func make(on channel: any Channel) -> (RawFrameHandler, WebSocketHandler) {
        let lane = lane(for: channel.eventLoop)
        let raw = RawFrameHandler()
        let handler = WebSocketHandler(
            lane: lane, raw: raw, metrics: scope.metrics, budget: budget, maximumQueuedBytes: options.outboundBytes,
            runBlocking: { [pools = scope.pools] pool, owner, work in pools[pool].submit(for: owner, work) })
        let session = Session(services: services(handler), lane: lane, transport: handler)
        handler.session = session
        let isClosing = state.withLock { state in
            state.sessions[ObjectIdentifier(session)] = session
            return state.isClosing
        }
        let heartbeat = channel.eventLoop.scheduleRepeatedTask(
            initialDelay: .seconds(5), delay: .seconds(5)
        ) { _ in
            session.tick(now: Date())
            handler.countBytes()
        }
        channel.closeFuture.whenComplete { _ in
            heartbeat.cancel()
            self.state.withLock { _ = $0.sessions.removeValue(forKey: ObjectIdentifier(session)) }
        }
        if isClosing { session.close(.restarting) }
        return (raw, handler)
    }

    /// The number of open WebSockets.
    var count: Int { state.withLock { $0.sessions.count } }

    /// Asks all clients, and those that connect from now on, to connect to another node within a time.
    func askToMove(within window: Duration) {
        let sessions = state.withLock { state in
            state.moveEnd = .now + window
            return Array(state.sessions.values)
        }
        for session in sessions { session.askToMove() }
    }

    /// The rest of the time in which clients must connect to another node, in milliseconds.
    private var movesWithin: Int? {
        state.withLock { $0.moveEnd }.map { Int(max(0, ContinuousClock.now.duration(to: $0) / .milliseconds(1))) }
    }

    /// Closes all connections: stops reading, answers the messages already received, sends close frames, and waits up
    /// to six seconds.
    func drain() async {
        let (sessions, lanes) = state.withLock { state in
            state.isClosing = true
            return (Array(state.sessions.values), Array(state.lanes.values))
        }
        for session in sessions { session.ignoreInput() }
        // After a turn of each event loop, frames that were being processed are processed.
        for lane in lanes { try? await lane.eventLoop.submit {}.get() }
        // Responses follow the order of the log. When the log has settled, all responses are sent.
        _ = try? await scope.write { (engine, completion: @escaping Engine.Completion<Void>) in
            engine.waitForPendingMessages(completion: completion)
        }
        for session in sessions { session.close(.restarting) }
        // Sockets are closed after five seconds even if the peer does not answer the close frame.
        for _ in 0..<600 where state.withLock({ !$0.sessions.isEmpty }) {
            try? await Task.sleep(for: .milliseconds(10))
        }
    }

    private func lane(for eventLoop: any EventLoop) -> EventLoopLane {
        state.withLock { state in
            if let lane = state.lanes[ObjectIdentifier(eventLoop)] { return lane }
            let lane = EventLoopLane(eventLoop: eventLoop)
            state.lanes[ObjectIdentifier(eventLoop)] = lane
            return lane
        }
    }

    private func services(_ handler: WebSocketHandler) -> SessionServices {
        SessionServices(
            engine: scope.engine,
            verify: { [scope] token, completion in
                Task {
                    do throws(ChatError) {
                        let verified = try await scope.verify(token)
                        completion(.success((verified.caller, verified.expiresAt)))
                    } catch {
                        completion(.failure(error))
                    }
                }
            },
            offload: { [weak handler] pool, owner, work in handler?.offload(pool, owner, work) },
            heartbeat: options.heartbeat, limiter: scope.limiter, maximumConnections: options.connectionsPerUser,
            movesWithin: { [weak self] in self?.movesWithin }, startCleanup: { [scope] in scope.tidy.runNow() })
    }
}
