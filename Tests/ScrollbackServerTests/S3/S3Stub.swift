import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// An HTTP server that answers requests as a test defines, for example like a broken store.
final class S3Stub: Sendable {
    struct Request: Sendable {
        var method: String
        var uri: String
        var headers: HTTPHeaders
        var body: [UInt8]
    }

    enum Reply: Sendable {
        case answer(Int, String = "", headers: [String: String] = [:])
        /// A body that declares a length, and ends after its first bytes.
        case truncated(String, length: Int)
        /// The connection is closed without an answer.
        case reset
        /// The connection stays open without an answer.
        case silence
        /// An answer with the status 200 after a time.
        case late(String, TimeAmount)

        static func error(_ status: Int, _ code: String) -> Reply {
            .answer(status, "<?xml version='1.0'?><Error><Code>\(code)</Code><Message>secret</Message></Error>")
        }
    }

    private let channel: any Channel
    private let received: Received

    private final class Received: Sendable {
        let requests = Mutex<[Request]>([])
    }

    /// The requests in their order.
    var requests: [Request] { received.requests.withLock { $0 } }

    /// Starts a server.
    ///
    /// - Parameter reply: Returns the answer to a request, of which `number` came before.
    init(_ reply: @escaping @Sendable (_ request: Request, _ number: Int) -> Reply) async throws {
        let received = Received()
        self.received = received
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(
                        Handler { request in
                            let number = received.requests.withLock { requests in
                                requests.append(request)
                                return requests.count - 1
                            }
                            return reply(request, number)
                        })
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
    }

    deinit { channel.close(promise: nil) }

    /// The value of the option `--files`.
    var url: String {
        "s3://bucket?endpoint=http://127.0.0.1:\(channel.localAddress?.port ?? 0)&region=us-east-1"
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let reply: (Request) -> Reply
        private var request = Request(method: "", uri: "", headers: [:], body: [])

        init(_ reply: @escaping (Request) -> Reply) {
            self.reply = reply
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head):
                request = Request(method: head.method.rawValue, uri: head.uri, headers: head.headers, body: [])
            case .body(let bytes): request.body += bytes.readableBytesView
            case .end: answer(reply(request), context)
            }
        }

        private func answer(_ reply: Reply, _ context: ChannelHandlerContext) {
            switch reply {
            case .answer(let status, let body, let headers):
                write(status, body, length: body.utf8.count, headers, context)
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            case .truncated(let body, let length):
                write(206, body, length: length, ["Content-Range": "bytes 0-\(length - 1)/\(length)"], context)
                context.flush()
                context.close(promise: nil)
            case .reset: context.close(promise: nil)
            case .silence: break
            case .late(let body, let time):
                context.eventLoop.assumeIsolated().scheduleTask(in: time) { self.answer(.answer(200, body), context) }
            }
        }

        private func write(
            _ status: Int, _ body: String, length: Int, _ headers: [String: String], _ context: ChannelHandlerContext
        ) {
            var fields = HTTPHeaders(headers.map { ($0.key, $0.value) })
            if !fields.contains(name: "Content-Length"), status != 204 {
                fields.add(name: "Content-Length", value: String(length))
            }
            let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: status), headers: fields)
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            if !body.isEmpty, request.method != "HEAD" {
                context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: body)))), promise: nil)
            }
        }
    }
}
