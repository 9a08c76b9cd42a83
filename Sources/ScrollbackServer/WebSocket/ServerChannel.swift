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

/// The pipeline of an accepted connection: TLS if configured, then HTTP/1.1, then a WebSocket after `GET /v1/connect`.
///
/// Connections are closed if the first request head takes longer than 30 seconds, or after 60 idle seconds between
/// requests. They are also closed if the client transfers a body slower than the pace allows.
///
/// The package hummingbird-websocket can't be used here; see decision 0003.
struct ServerChannel: ServerChildChannel, HTTPChannelHandler {
    enum Upgrade: Sendable {
        case webSocket
        case http(NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>)
    }

    struct Value: ServerChildChannelValue {
        let upgrade: EventLoopFuture<Upgrade>
        let channel: any Channel
    }

    /// The buffers that the server reads into.
    ///
    /// An idle connection keeps the buffer of its last request or frame.
    static let allocator = AdaptiveRecvByteBufferAllocator(minimum: 64, initial: 512, maximum: 64 << 10)

    let responder: HTTPChannelHandler.Responder
    let certificates: Certificates?
    let frameBytes: Int
    let allowedOrigins: AllowedOrigins
    let makePaceHandler: @Sendable (any Channel) -> HTTPPaceHandler
    let makeWebSocket: @Sendable (any Channel) -> (RawFrameHandler, WebSocketHandler)

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            try? channel.syncOptions?.setOption(.tcpOption(.tcp_nodelay), value: 1)
            try channel.syncOptions?.setOption(.recvAllocator, value: Self.allocator)
            let pipeline = channel.pipeline.syncOperations
            if let certificates {
                try pipeline.addHandler(NIOSSLServerHandler(context: certificates.context))
            }
            let upgrader = NIOTypedWebSocketServerUpgrader<Upgrade>(
                maxFrameSize: frameBytes, enableAutomaticErrorHandling: false,
                shouldUpgrade: { channel, _ in
                    channel.eventLoop.makeSucceededFuture(["sec-websocket-protocol": HelloFrame.subprotocol])
                },
                upgradePipelineHandler: { channel, _ in
                    channel.eventLoop.makeCompletedFuture { try addWebSocket(to: channel) }
                })
            let configuration = NIOTypedHTTPServerUpgradeConfiguration<Upgrade>(
                upgraders: [upgrader],
                notUpgradingCompletionHandler: { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandlers([
                            HTTP1ToHTTPServerCodec(secure: certificates != nil), makePaceHandler(channel),
                            HTTPConnectionStateHandler(idleTimeout: .seconds(60), logger: logger),
                        ])
                        return .http(
                            try NIOAsyncChannel(
                                wrappingChannelSynchronously: channel,
                                configuration: .init(isOutboundHalfClosureEnabled: true)))
                    }
                })
            var whole = NIOUpgradableHTTPServerPipelineConfiguration<Upgrade>(upgradeConfiguration: configuration)
            whole.decoderConfiguration = UpgradeGate.headLimits
            whole.enablePipelining = false
            whole.enableErrorHandling = false
            whole.enableResponseHeaderValidation = false
            let upgrade = try pipeline.configureUpgradableHTTPServerPipeline(configuration: whole)
            let upgrading = try pipeline.handler(type: NIOTypedHTTPServerUpgradeHandler<Upgrade>.self)
            try pipeline.addHandler(UpgradeGate(allowedOrigins: allowedOrigins), position: .before(upgrading))
            return Value(upgrade: upgrade, channel: channel)
        }
    }

    func handle(value: Value, logger: Logger) async {
        do {
            switch try await value.upgrade.get() {
            case .http(let channel):
                await withTaskExecutorPreference(EventLoopExecutor(value.channel.eventLoop)) {
                    await handleHTTP(asyncChannel: channel, logger: logger)
                }
            // A task that waited for its end would have a third of the memory of an idle connection.
            case .webSocket: break
            }
        } catch {
            logger.debug(
                "The connection ended before its protocol was known.", metadata: ["error": "\(type(of: error))"])
            value.channel.close(promise: nil)
        }
    }

    private func addWebSocket(to channel: any Channel) throws -> Upgrade {
        let (raw, handler) = makeWebSocket(channel)
        let pipeline = channel.pipeline.syncOperations
        let encoder = try pipeline.handler(type: WebSocketFrameEncoder.self)
        try pipeline.addHandler(raw, position: .before(encoder))
        let decoder = try pipeline.handler(type: ByteToMessageHandler<WebSocketFrameDecoder>.self)
        let gate = ReceiveGate(handler)
        handler.gate = gate
        try pipeline.addHandler(gate, position: .before(decoder))
        try channel.syncOptions?.setOption(.recvAllocator, value: ReceiveGate.allocator)
        try channel.syncOptions?.setOption(.maxMessagesPerRead, value: 1)
        try pipeline.addHandler(WelcomeGate(isVerified: { handler.isVerified }), position: .before(decoder))
        try pipeline.addHandler(FrameRules())
        try pipeline.addHandler(
            NIOWebSocketFrameAggregator(
                minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 64, maxAccumulatedFrameSize: frameBytes))
        try pipeline.addHandler(handler)
        return .webSocket
    }
}
