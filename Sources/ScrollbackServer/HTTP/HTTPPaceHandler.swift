import CoreMetrics
import HTTPTypes
import NIOCore
import NIOHTTPTypes
import ScrollbackModel

/// Ends HTTP requests whose body arrives too slowly, and responses that the client reads too slowly.
///
/// Only the time counts in which the server waits for the client: a slow disk of the server ends no request.
///
/// The handler also delays the next request of a client that goes on after refusals.
///
/// `@unchecked Sendable`: mutable state is accessed only on the event loop.
final class HTTPPaceHandler: ChannelDuplexHandler, QueueingConnection, @unchecked Sendable {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// The body of a request arrived too slowly.
    struct SlowBody: Error {
        /// The minimum rate in bytes per second.
        let rate: Int
    }

    private let metrics: ServerMetrics
    private let budget: OutboundBudget
    private let channel: any Channel
    private var requestPace: TransferPace
    private var responsePace: TransferPace
    private var isReceiving = false
    /// Whether the server has asked the socket for more of the body.
    private var isReading = false
    /// Whether the client waits for `100 Continue` before it sends the body.
    private var awaitsContinue = false
    /// The bytes of responses that were written since the last check.
    private var written = 0
    private var queued = 0
    private var lastCheck = NIODeadline.now()
    private var check: Scheduled<Void>?
    private var hasEnded = false
    private var refusals = RefusalPace()
    /// The end of the delay of the next request.
    private var pauseEnd: Scheduled<Void>?
    /// Whether the server has asked for more bytes during the delay.
    private var isReadDelayed = false

    private static let interval = TimeAmount.seconds(1)
    /// How long the connection stays open after a slow body, so that the client can read the response.
    private static let closeDelay = TimeAmount.seconds(5)

    init(channel: any Channel, pace: TransferPace, metrics: ServerMetrics, budget: OutboundBudget) {
        self.channel = channel
        self.metrics = metrics
        self.budget = budget
        requestPace = pace
        responsePace = pace
    }

    func handlerAdded(context: ChannelHandlerContext) {
        // Reads that other handlers requested earlier are still pending.
        isReading = true
    }

    func channelInactive(context: ChannelHandlerContext) {
        check?.cancel()
        pauseEnd?.cancel()
        budget.remove(self)
        context.fireChannelInactive()
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        isReading = false
        switch unwrapInboundIn(data) {
        case .head(let head):
            isReceiving = true
            awaitsContinue = head.headerFields[.expect]?.lowercased() == "100-continue"
            requestPace.restart()
        case .body(let bytes):
            awaitsContinue = false
            requestPace.transferred(bytes.readableBytes)
        case .end: isReceiving = false
        }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // The body of most requests arrives together with the head, so that no check is scheduled.
        if isReceiving { schedule(context) }
        context.fireChannelReadComplete()
    }

    func read(context: ChannelHandlerContext) {
        guard pauseEnd == nil else {
            isReadDelayed = true
            return
        }
        isReading = true
        context.read()
    }

    /// Delays the next request if this response is one of many refusals.
    private func recordStatus(_ status: HTTPResponse.Status, _ context: ChannelHandlerContext) {
        guard status == .tooManyRequests || status == .serviceUnavailable, pauseEnd == nil,
            let pause = refusals.refused(at: context.eventLoop.now)
        else { return }
        metrics.receivePauses.increment()
        pauseEnd = context.eventLoop.assumeIsolated().scheduleTask(in: pause) {
            self.pauseEnd = nil
            guard self.isReadDelayed else { return }
            self.isReadDelayed = false
            self.read(context: context)
        }
    }

    // MARK: Responses

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(let head):
            awaitsContinue = false
            recordStatus(head.status, context)
        case .body(let bytes): written += bytes.readableBytes
        case .end: break
        }
        context.write(data, promise: promise)
    }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        countQueued(context)
        if queued > 0 { schedule(context) }
    }

    private func countQueued(_ context: ChannelHandlerContext) {
        let bytes = (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
        let sent = queued + written - bytes
        written = 0
        if sent > 0 { responsePace.transferred(sent) }
        if bytes == 0 { responsePace.restart() }
        guard bytes != queued else { return }
        queued = bytes
        budget.set(bytes, for: self)
    }

    func closeToFreeMemory() { channel.close(promise: nil) }

    // MARK: Checks

    private func schedule(_ context: ChannelHandlerContext) {
        guard check == nil, !hasEnded else { return }
        lastCheck = context.eventLoop.now
        check = context.eventLoop.assumeIsolated().scheduleTask(in: Self.interval) { self.runCheck(context) }
    }

    private func runCheck(_ context: ChannelHandlerContext) {
        check = nil
        let now = context.eventLoop.now
        let seconds = Double((now - lastCheck).nanoseconds) / 1e9
        countQueued(context)
        if queued > 0 { responsePace.waited(seconds) }
        if isReceiving, isReading, !awaitsContinue { requestPace.waited(seconds) }
        if responsePace.isExhausted {
            end()
            return context.close(promise: nil)
        }
        if requestPace.isExhausted {
            end()
            context.eventLoop.assumeIsolated().scheduleTask(in: Self.closeDelay) { context.close(promise: nil) }
            return context.fireErrorCaught(SlowBody(rate: requestPace.rate))
        }
        if isReceiving || queued > 0 { schedule(context) }
    }

    private func end() {
        hasEnded = true
        metrics.slowTransfers.increment()
    }
}

extension ChatError {
    /// The error of a request whose body did not arrive completely.
    static func bodyEndedEarly(_ cause: (any Error)?) -> ChatError {
        if let cause = cause as? HTTPPaceHandler.SlowBody {
            return ChatError(
                .timeout, "The body must arrive at \(cause.rate) bytes per second or faster. Send the request again.",
                limit: cause.rate)
        }
        return ChatError(.malformed, "The body ended early.", cause: cause)
    }
}
