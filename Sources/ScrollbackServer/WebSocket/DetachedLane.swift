package import NIOCore
package import ScrollbackEngine

/// A lane whose WebSockets are on channels of the caller, which measurements use to deliver without a network.
package struct DetachedLane {
    private let lane: EventLoopLane
    private let metrics = ServerMetrics()
    private let budget: OutboundBudget

    package init(eventLoop: any EventLoop) {
        lane = EventLoopLane(eventLoop: eventLoop)
        budget = OutboundBudget(limit: 1 << 30, metrics: metrics)
    }

    /// Adds the handlers of an upgraded WebSocket to a channel of the lane's event loop.
    ///
    /// Must be called on the event loop. Requests run on the thread that receives them.
    ///
    /// - Returns: The session, which receives frames from the caller and not from the channel.
    package func open(_ channel: any Channel, _ services: SessionServices) throws -> Session {
        let raw = RawFrameHandler()
        let handler = WebSocketHandler(
            lane: lane, raw: raw, metrics: metrics, budget: budget, maximumQueuedBytes: 1 << 20,
            runBlocking: { _, _, work in work() })
        let session = Session(services: services, lane: lane, transport: handler)
        handler.session = session
        try channel.pipeline.syncOperations.addHandlers([raw, handler])
        return session
    }
}
