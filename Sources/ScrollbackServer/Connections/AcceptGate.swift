import CoreMetrics
import Logging
import NIOCore

/// Closes accepted connections that exceed a limit, and pauses after the system refused to accept one.
///
/// It is the first handler of the listening socket.
final class AcceptGate: ChannelDuplexHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel
    typealias OutboundIn = Never
    typealias OutboundOut = Never

    private let limits: ConnectionLimits
    private let metrics: ServerMetrics
    private let logger: Logger
    private var resumption: Scheduled<Void>?
    /// The time without accepting connections after an error, for example because the process has no descriptor left.
    ///
    /// Without the pause, the connection that waits would make the event loop try again immediately and without end.
    static let pause = TimeAmount.seconds(1)

    init(limits: ConnectionLimits, metrics: ServerMetrics, logger: Logger) {
        self.limits = limits
        self.metrics = metrics
        self.logger = logger
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let channel = unwrapInboundIn(data)
        let address = ClientAddress(channel.remoteAddress)
        guard limits.open(address) else { return channel.close(promise: nil) }
        channel.closeFuture.whenComplete { [limits] _ in limits.close(address) }
        context.fireChannelRead(data)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is IOError else { return context.fireErrorCaught(error) }
        metrics.acceptErrors.increment()
        guard resumption == nil else { return }
        logger.warning("Can't accept connections. The server tries again.", metadata: ["error": "\(error)"])
        let channel = context.channel
        try? channel.syncOptions?.setOption(.autoRead, value: false)
        resumption = context.eventLoop.assumeIsolated().scheduleTask(in: Self.pause) {
            self.resumption = nil
            try? channel.syncOptions?.setOption(.autoRead, value: true)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        resumption?.cancel()
        context.fireChannelInactive()
    }
}
