import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOSSL
import NIOWebSocket
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

/// An accepted connection: TLS if certificates are configured, then HTTP/1.1, then on `GET /v1/connect` a WebSocket.
///
/// hummingbird-websocket does this for applications that can have it; see decision 0003.
struct ServerChannel: ServerChildChannel, HTTPChannelHandler {
    enum Upgrade: Sendable {
        case webSocket(any Channel)
        case http(NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>)
    }

    struct Value: ServerChildChannelValue {
        let upgrade: EventLoopFuture<Upgrade>
        let channel: any Channel
    }

    let responder: HTTPChannelHandler.Responder
    let certificates: Certificates?
    let frameBytes: Int
    let makeWebSocket: @Sendable (any Channel) -> (RawFrameHandler, WebSocketHandler)

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            try? channel.syncOptions?.setOption(.tcpOption(.tcp_nodelay), value: 1)
            let pipeline = channel.pipeline.syncOperations
            if let certificates {
                try pipeline.addHandler(NIOSSLServerHandler(context: certificates.context))
            }
            let upgrader = NIOTypedWebSocketServerUpgrader<Upgrade>(
                maxFrameSize: frameBytes,
                shouldUpgrade: { channel, head in
                    channel.eventLoop.makeSucceededFuture(Self.answer(to: head))
                },
                upgradePipelineHandler: { channel, _ in
                    channel.eventLoop.makeCompletedFuture { try addWebSocket(to: channel) }
                })
            let configuration = NIOTypedHTTPServerUpgradeConfiguration<Upgrade>(
                upgraders: [upgrader],
                notUpgradingCompletionHandler: { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(
                            HTTP1ToHTTPServerCodec(secure: certificates != nil))
                        return .http(
                            try NIOAsyncChannel(
                                wrappingChannelSynchronously: channel,
                                configuration: .init(isOutboundHalfClosureEnabled: true)))
                    }
                })
            var whole = NIOUpgradableHTTPServerPipelineConfiguration<Upgrade>(upgradeConfiguration: configuration)
            whole.enablePipelining = false
            whole.enableErrorHandling = false
            whole.enableResponseHeaderValidation = false
            return Value(
                upgrade: try pipeline.configureUpgradableHTTPServerPipeline(configuration: whole), channel: channel)
        }
    }

    func handle(value: Value, logger: Logger) async {
        do {
            switch try await value.upgrade.get() {
            case .http(let channel): await handleHTTP(asyncChannel: channel, logger: logger)
            case .webSocket(let channel): try await channel.closeFuture.get()
            }
        } catch {
            logger.debug("connection ended before it was understood", metadata: ["error": "\(type(of: error))"])
            value.channel.close(promise: nil)
        }
    }

    /// The headers to upgrade with; nothing where the request is for HTTP to answer.
    private static func answer(to head: HTTPRequestHead) -> HTTPHeaders? {
        let path = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).first ?? ""
        let offered = head.headers[canonicalForm: "sec-websocket-protocol"]
        guard path == "/v1/connect", offered.contains(where: { $0 == ClientFrame.subprotocol }) else { return nil }
        return ["sec-websocket-protocol": ClientFrame.subprotocol]
    }

    private func addWebSocket(to channel: any Channel) throws -> Upgrade {
        let (raw, handler) = makeWebSocket(channel)
        let pipeline = channel.pipeline.syncOperations
        let encoder = try pipeline.handler(type: WebSocketFrameEncoder.self)
        try pipeline.addHandler(raw, position: .before(encoder))
        try pipeline.addHandler(
            NIOWebSocketFrameAggregator(
                minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 64, maxAccumulatedFrameSize: frameBytes))
        try pipeline.addHandler(handler)
        return .webSocket(channel)
    }
}
