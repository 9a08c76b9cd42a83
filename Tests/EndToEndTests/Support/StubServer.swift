import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// An HTTP server that sends the responses a test defines, for example those of a broken server.
final class StubServer: Sendable {
    struct Reply: Sendable {
        let status: Int
        let body: [UInt8]
        let headers: [String: String]

        init(status: Int, body: String, headers: [String: String] = [:]) {
            self.init(status: status, body: Array(body.utf8), headers: headers)
        }

        init(status: Int, body: [UInt8], headers: [String: String] = [:]) {
            self.status = status
            self.body = body
            self.headers = headers
        }
    }

    private let channel: any Channel

    private let scheme: String

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - tls: The TLS context, or `nil` for plain HTTP.
    ///   - reply: Returns the response for a path, or `nil` for status 404.
    init(tls: NIOSSLContext? = nil, _ reply: @escaping @Sendable (_ path: String) -> Reply?) async throws {
        scheme = tls == nil ? "http" : "https"
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler(reply))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
    }

    deinit { channel.close(promise: nil) }

    var address: String { "\(scheme)://127.0.0.1:\(channel.localAddress?.port ?? 0)" }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let reply: @Sendable (String) -> Reply?
        private var path = ""

        init(_ reply: @escaping @Sendable (String) -> Reply?) {
            self.reply = reply
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head): path = String(head.uri.prefix { $0 != "?" })
            case .body: break
            case .end:
                let reply = reply(path) ?? Reply(status: 404, body: "nothing here")
                var headers = HTTPHeaders(reply.headers.map { ($0.key, $0.value) })
                headers.add(name: "Content-Length", value: String(reply.body.count))
                let head = HTTPResponseHead(
                    version: .http1_1, status: .init(statusCode: reply.status), headers: headers)
                context.write(wrapOutboundOut(.head(head)), promise: nil)
                context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: reply.body)))), promise: nil)
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            }
        }
    }
}
