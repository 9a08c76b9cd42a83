import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Scrollback
import ScrollbackModel
import Testing

/// A server that starts a response and never ends it.
private final class EndlessServer: Sendable {
    private let channel: any Channel

    /// Starts the server.
    ///
    /// - Parameter isSilent: Whether the server stops sending after the first bytes.
    init(isSilent: Bool) async throws {
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler(isSilent: isSilent))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
    }

    deinit { channel.close(promise: nil) }

    var url: URL? { URL(string: "http://127.0.0.1:\(channel.localAddress?.port ?? 0)/") }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let isSilent: Bool

        init(isSilent: Bool) {
            self.isSilent = isSilent
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .end = unwrapInboundIn(data) else { return }
            context.write(wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .ok))), promise: nil)
            sendBody(context)
        }

        private func sendBody(_ context: ChannelHandlerContext) {
            let bytes = ByteBuffer(repeating: 7, count: 1 << 16)
            let written = context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(bytes))))
            guard !isSilent else { return }
            let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            written.whenSuccess {
                let (handler, context) = bound.value
                handler.sendBody(context)
            }
        }
    }
}

@Suite("HTTP responses", .timeLimit(.minutes(10)))
struct HTTPTransportTests {
    private func expect(
        _ code: ChatError.Code, _ transport: any HTTPTransport, _ server: EndlessServer
    ) async throws {
        let exchange = HTTPExchange(method: "GET", url: try #require(server.url), answerLimit: 1 << 20)
        await #expect(
            performing: { try await transport.exchange(exchange) }, throws: { ($0 as? ChatError)?.code == code })
    }

    @Test("A response without an end is aborted at the limit")
    func endlessResponseIsAborted() async throws {
        let server = try await EndlessServer(isSilent: false)
        try await expect(.malformed, URLSessionHTTPTransport(), server)
        try await expect(.malformed, AsyncHTTPClientTransport(), server)
    }

    @Test("A response that stops in the middle is abandoned, with a custom certificate as well")
    func stalledResponseIsAbandoned() async throws {
        let server = try await EndlessServer(isSilent: true)
        let certificate = FileManager.default.temporaryDirectory.appending(path: "none.pem")
        let transport = AsyncHTTPClientTransport(trusting: certificate, readTimeout: .milliseconds(300))
        try await expect(.unreachable, transport, server)
    }

    @Test("A response arrives complete, with header names in lower case")
    func responseArrivesComplete() async throws {
        let server = try await StubServer { _ in .init(status: 206, body: "tides", headers: ["ETag": "\"a\""]) }
        let url = try #require(URL(string: server.address))
        for transport in [URLSessionHTTPTransport(), AsyncHTTPClientTransport()] as [any HTTPTransport] {
            let answer = try await transport.exchange(HTTPExchange(method: "GET", url: url, answerLimit: 5))
            #expect(answer.status == 206 && answer.headers["etag"] == "\"a\"" && answer.body == Data("tides".utf8))
        }
    }
}
