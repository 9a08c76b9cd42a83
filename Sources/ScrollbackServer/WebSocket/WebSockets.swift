import Foundation
import NIOCore
import NIOPosix
import ScrollbackEngine
import ScrollbackModel
import Synchronization

/// The open WebSockets, and the lanes that serve them.
final class WebSockets: Sendable {
    private let scope: RequestScope
    private let options: ServerOptions
    private let state = Mutex(State())

    private struct State {
        var lanes: [ObjectIdentifier: EventLoopLane] = [:]
        var sessions: [ObjectIdentifier: Session] = [:]
        var isClosing = false
    }

    init(scope: RequestScope, options: ServerOptions) {
        self.scope = scope
        self.options = options
    }

    /// The handlers of a new socket, and its session.
    ///
    /// Called on the socket's event loop.
    func make(on channel: any Channel) -> (RawFrameHandler, WebSocketHandler) {
        let lane = lane(for: channel.eventLoop)
        let raw = RawFrameHandler()
        let handler = WebSocketHandler(
            lane: lane, raw: raw, metrics: scope.metrics, maximumQueuedBytes: options.outboundBytes,
            carryOut: { [readers = scope.readers] work in readers.submit { _ in work() } })
        let session = Session(services: services(handler), lane: lane, outlet: handler)
        handler.session = session
        let isClosing = state.withLock { state in
            state.sessions[ObjectIdentifier(session)] = session
            return state.isClosing
        }
        let heartbeat = channel.eventLoop.scheduleRepeatedTask(
            initialDelay: .seconds(5), delay: .seconds(5)
        ) { _ in session.tick(now: Date()) }
        channel.closeFuture.whenComplete { _ in
            heartbeat.cancel()
            self.state.withLock { _ = $0.sessions.removeValue(forKey: ObjectIdentifier(session)) }
        }
        if isClosing { session.close(.restarting) }
        return (raw, handler)
    }

    /// Closes every socket: takes no more from it, answers the sends it took, says goodbye, and waits until it is gone.
    func drain() async {
        let (sessions, lanes) = state.withLock { state in
            state.isClosing = true
            return (Array(state.sessions.values), Array(state.lanes.values))
        }
        for session in sessions { session.stopTaking() }
        // Who was just taking a frame has taken it after this.
        for lane in lanes { try? await lane.eventLoop.submit {}.get() }
        // What is sent is answered in the order of the log, so after this nothing is left to answer.
        _ = try? await scope.write { (engine, completion: @escaping Engine.Completion<Void>) in
            engine.settle(completion: completion)
        }
        for session in sessions { session.close(.restarting) }
        // A peer that does not answer is given five seconds.
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
            offload: { [weak handler] work in handler?.offload(work) },
            heartbeat: options.heartbeat, allowance: scope.allowance, tidy: { [scope] in scope.tidy.begin() })
    }
}
