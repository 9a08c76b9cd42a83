import NIOCore
import NIOExtras
import NIOHTTP1
import ScrollbackModel
import ScrollbackWire

/// Decides which requests are upgraded to a WebSocket: only the first of a connection can be.
///
/// All other requests continue as plain HTTP without their `Upgrade` header, because the upgrade handler would drop
/// them. For example, a wrong subprotocol or origin gets a JSON error, and an upgrade to `h2c` is ignored (RFC 9110
/// section 7.8). NIO's parser stops after a request with this header, and after `CONNECT`. So the connection ends with
/// the answer, and the bytes that follow are discarded. The parser would keep them in memory.
///
/// The handler also closes connections without a request after 30 seconds, or when the server shuts down.
final class UpgradeGate: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    /// The maximum size of a request line and its header fields, which anyone can send without a token.
    static let maximumHeadBytes = 32 << 10
    /// The time for the first request head.
    static let maximumHeadTime = TimeAmount.seconds(30)

    /// The limits of the parser, whose defaults allow 2 MiB.
    static let headLimits = {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = maximumHeadBytes
        limits.maxHeaderListSize = maximumHeadBytes
        limits.maxHeaderFieldCount = 128
        return limits
    }()

    private enum Phase { case silent, http, lastRequest, upgrading, webSocket }
    private let allowedOrigins: AllowedOrigins
    private var phase = Phase.silent
    private var timeout: Scheduled<Void>?

    init(allowedOrigins: AllowedOrigins) {
        self.allowedOrigins = allowedOrigins
    }

    func handlerAdded(context: ChannelHandlerContext) {
        timeout = context.eventLoop.assumeIsolated().scheduleTask(in: Self.maximumHeadTime) {
            context.close(promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timeout?.cancel()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // After an upgrade request, all bytes belong to the WebSocket.
        guard phase != .webSocket else { return context.fireChannelRead(data) }
        switch unwrapInboundIn(data) {
        case .head(var head):
            timeout?.cancel()
            if phase == .silent, Self.isWebSocket(head), isAllowed(head.headers) {
                phase = .upgrading
            } else if head.headers.contains(name: "upgrade") || head.method == .CONNECT {
                phase = .lastRequest
                head.headers.remove(name: "upgrade")
                head.headers.replaceOrAdd(name: "connection", value: "close")
            } else {
                phase = .http
            }
            context.fireChannelRead(wrapInboundOut(.head(head)))
        case .body: context.fireChannelRead(data)
        case .end:
            if phase == .upgrading { phase = .webSocket }
            if phase == .lastRequest { discardRest(context) }
            context.fireChannelRead(data)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent, phase == .silent {
            context.close(promise: nil)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    /// Answers a malformed first request.
    ///
    /// Hummingbird handles parser errors only after the connection's protocol is known.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard phase == .silent, let error = error as? HTTPParserError else { return context.fireErrorCaught(error) }
        phase = .upgrading
        let problem =
            error == .headerOverflow
            ? ChatError(
                .tooLarge, "The request line and at most 128 header fields can have \(Self.maximumHeadBytes) bytes.",
                limit: Self.maximumHeadBytes)
            : ChatError(.malformed, "The request can't be parsed.")
        var writer = JSONWriter()
        problem.writeProblem(to: &writer)
        let head = HTTPResponseHead(
            version: .http1_1, status: HTTPResponseStatus(statusCode: problem.status),
            headers: [
                "content-type": "application/problem+json", "content-length": "\(writer.bytes.count)",
                "connection": "close",
            ])
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: writer.bytes)))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        context.close(promise: nil)
    }

    /// Discards all bytes that the client sends from now on.
    private func discardRest(_ context: ChannelHandlerContext) {
        let pipeline = context.pipeline.syncOperations
        do {
            let parser = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(DiscardingHandler(), position: .before(parser))
        } catch {
            context.close(promise: nil)
        }
    }

    private func isAllowed(_ headers: HTTPHeaders) -> Bool {
        let origins = headers["origin"]
        let origin = origins.isEmpty ? nil : origins.joined(separator: ", ")
        return allowedOrigins.refusal(ofSocketFrom: origin, to: headers.first(name: "host")) == nil
    }

    /// Returns whether the request is a WebSocket handshake (RFC 6455 section 4.2.1) for `/v1/connect` with our
    /// subprotocol.
    private static func isWebSocket(_ head: HTTPRequestHead) -> Bool {
        let path = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).first ?? ""
        func offers(_ value: String, _ name: String) -> Bool {
            head.headers[canonicalForm: name].contains { $0.lowercased() == value }
        }
        return path == "/v1/connect" && head.method == .GET && head.version == .http1_1
            && offers("websocket", "upgrade") && offers("upgrade", "connection")
            && head.headers["sec-websocket-key"].count == 1 && head.headers["sec-websocket-version"] == ["13"]
            && head.headers[canonicalForm: "sec-websocket-protocol"].contains { $0 == HelloFrame.subprotocol }
            && !head.headers.contains(name: "content-length") && !head.headers.contains(name: "transfer-encoding")
    }
}

/// Discards the bytes that a client sends.
private final class DiscardingHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}
}
