import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOSSL
import ScrollbackEngine
import ScrollbackPush
import ServiceLifecycle
import Synchronization

/// Reaches the operator's own program over HTTP.
final class HTTPWebhooks: WebhookTransport {
    /// Made when it is needed first: most servers tell nobody.
    private let state = Mutex<HTTPClient?>(nil)

    /// The most bytes of an answer that are read.
    private static let answerBytes = 1 << 20

    private static func makeClient() -> HTTPClient {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.timeout.connect = .seconds(5)
        configuration.tlsConfiguration = .outgoing()
        // A refused connection is known at once, and what is to be told is tried again anyway.
        configuration.connectionPool.retryConnectionEstablishment = false
        // Messages that wait to be asked about don't wait for each other, nor for what is told.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    private var client: HTTPClient {
        state.withLock { client in
            let known = client ?? Self.makeClient()
            client = known
            return known
        }
    }

    func post(_ request: WebhookRequest) async throws -> WebhookResponse {
        try await withDeadline(request.timeout) { try await self.exchange(request) }
    }

    private func exchange(_ request: WebhookRequest) async throws -> WebhookResponse {
        var post = HTTPClientRequest(url: request.url)
        post.method = .POST
        for (name, value) in request.headers { post.headers.add(name: name, value: value) }
        post.headers.add(name: "User-Agent", value: "scrollback/\(Server.version)")
        post.body = .bytes(ByteBuffer(bytes: request.body))
        let response = try await client.execute(post, timeout: TimeAmount(request.timeout))
        let body = try await response.body.collect(upTo: Self.answerBytes)
        // A body that was broken off looks like one that came to its end.
        try Task.checkCancellation()
        return WebhookResponse(status: Int(response.status.code), body: Array(buffer: body))
    }

    func shutdown() async {
        let client = state.withLock { client in
            defer { client = nil }
            return client
        }
        try? await client?.shutdown()
    }
}

/// Tells the operator's own program what was said.
struct Telling: Service {
    let engine: Engine

    func run() async throws {
        await cancelWhenGracefulShutdown { await engine.deliver() }
    }
}
