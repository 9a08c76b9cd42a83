package import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket
package import ScrollbackModel
import ScrollbackWire
import Synchronization

/// A WebSocket transport based on SwiftNIO, for Linux and other platforms without a suitable URLSession.
package struct NIOTransport: Transport {
    private let group: any EventLoopGroup
    private let certificate: URL?

    /// - Parameter certificate: A PEM file to trust instead of the system's certificates.
    package init(trusting certificate: URL? = nil) {
        group = MultiThreadedEventLoopGroup.singleton
        self.certificate = certificate
    }

    package func open(
        _ url: URL, events: @escaping @Sendable (TransportEvent) -> Void
    ) async throws(ChatError) -> any TransportConnection {
        guard let host = url.host() else { throw .invalidParameter("server", "must be a URL with a host") }
        let isSecure = url.scheme == "https" || url.scheme == "wss"
        do {
            let tls = isSecure ? try tlsContext() : nil
            let upgrade = try await ClientBootstrap(group: group)
                .connectTimeout(.seconds(10))
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                .connect(host: host, port: url.port ?? (isSecure ? 443 : 80)) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        if let tls {
                            try channel.pipeline.syncOperations.addHandler(
                                NIOSSLClientHandler(context: tls, serverHostname: host.isAddress ? nil : host))
                        }
                        let upgrade = try Self.upgrade(channel, url, host, events)
                        // Close the connection if the server accepts it but doesn't complete the handshake.
                        let handshakeTimeout = channel.eventLoop.scheduleTask(in: .seconds(10)) {
                            channel.close(promise: nil)
                        }
                        upgrade.whenComplete { _ in handshakeTimeout.cancel() }
                        return upgrade
                    }
                }
            return try await upgrade.get()
        } catch let error as ChatError {
            throw error
        } catch {
            throw ChatError(.unreachable, "The server at \(host) can't be reached.", cause: error)
        }
    }

    private func tlsContext() throws -> NIOSSLContext {
        try NIOSSLContext(configuration: .client(trusting: certificate))
    }

    private static func upgrade(
        _ channel: any Channel, _ url: URL, _ host: String, _ events: @escaping @Sendable (TransportEvent) -> Void
    ) throws -> EventLoopFuture<any TransportConnection> {
        let upgrader = NIOTypedWebSocketClientUpgrader<any TransportConnection>(maxFrameSize: 1 << 26) { channel, _ in
            channel.eventLoop.makeCompletedFuture {
                let connection = NIOTransportConnection(channel: channel)
                let handler = SocketHandler(events: events)
                try channel.pipeline.syncOperations.addHandlers([
                    NIOWebSocketFrameAggregator(
                        minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 1024, maxAccumulatedFrameSize: 1 << 26),
                    handler,
                ])
                // `channelInactive` may be missed: a connection that is cut right after the upgrade closes before the
                // handler is added.
                channel.closeFuture.assumeIsolated().whenComplete { _ in handler.end() }
                return connection
            }
        }
        var path = url.path()
        if path.hasSuffix("/") { path.removeLast() }
        var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: path + "/v1/connect")
        head.headers = [
            "host": url.port.map { "\(host):\($0)" } ?? host, "sec-websocket-protocol": HelloFrame.subprotocol,
        ]
        let configuration = NIOTypedHTTPClientUpgradeConfiguration<any TransportConnection>(
            upgradeRequestHead: head, upgraders: [upgrader],
            notUpgradingCompletionHandler: { channel in
                channel.close(promise: nil)
                return channel.eventLoop.makeFailedFuture(
                    ChatError(.unreachable, "The server at \(host) is not a Scrollback server."))
            })
        var pipeline = NIOUpgradableHTTPClientPipelineConfiguration(upgradeConfiguration: configuration)
        // A server that shuts down sends a close frame immediately after the handshake.
        pipeline.leftOverBytesStrategy = .forwardBytes
        return try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(configuration: pipeline)
    }
}

extension String {
    /// Whether this is an IP address, which is not a valid TLS server name.
    fileprivate var isAddress: Bool { (try? SocketAddress(ipAddress: self, port: 0)) != nil }
}

private final class NIOTransportConnection: TransportConnection {
    private let channel: any Channel

    init(channel: any Channel) {
        self.channel = channel
    }

    func send(_ frame: [UInt8]) {
        // Clients must mask their frames (RFC 6455 section 5.3).
        let frame = WebSocketFrame(fin: true, opcode: .text, maskKey: .random(), data: ByteBuffer(bytes: frame))
        channel.writeAndFlush(frame, promise: nil)
    }

    func close() {
        var code = ByteBuffer()
        code.writeInteger(UInt16(1000))
        let frame = WebSocketFrame(fin: true, opcode: .connectionClose, maskKey: .random(), data: code)
        channel.writeAndFlush(frame).whenComplete { [channel] _ in channel.close(promise: nil) }
    }
}

/// Delivers complete text frames, answers pings, and reports the end of the connection once.
private final class SocketHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let events: @Sendable (TransportEvent) -> Void
    private var closure: TransportClosure?

    init(events: @escaping @Sendable (TransportEvent) -> Void) {
        self.events = events
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.opcode {
        case .text: events(.frame(Array(buffer: frame.unmaskedData)))
        case .ping:
            let pong = WebSocketFrame(fin: true, opcode: .pong, maskKey: .random(), data: frame.unmaskedData)
            context.writeAndFlush(wrapOutboundOut(pong), promise: nil)
        case .connectionClose:
            var data = frame.unmaskedData
            let code = data.readInteger(as: UInt16.self).map(Int.init)
            closure = TransportClosure(code: code, reason: data.readString(length: data.readableBytes) ?? "")
            let echo = WebSocketFrame(
                fin: true, opcode: .connectionClose, maskKey: .random(), data: frame.unmaskedData)
            context.writeAndFlush(wrapOutboundOut(echo), promise: nil)
            context.close(promise: nil)
        default: break
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        closure = closure ?? TransportClosure(reason: "\(type(of: error))")
        context.close(promise: nil)
    }

    /// Reports that the channel was closed.
    func end() {
        events(.closed(closure ?? TransportClosure(reason: "The connection was lost.")))
    }
}
