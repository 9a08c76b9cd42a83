import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOSSL
import ScrollbackEngine
import ScrollbackPush
import ServiceLifecycle
import Synchronization

/// Sends webhook requests over HTTP.
final class HTTPWebhookTransport: WebhookTransport {
    /// The HTTP client, created on first use because most servers have no webhook.
    private let state = Mutex<HTTPClient?>(nil)

    /// The maximum number of bytes read from a response.
    private static let maximumResponseBytes = 1 << 20

    private static func makeClient() -> HTTPClient {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.timeout.connect = .seconds(5)
        configuration.tlsConfiguration = .outgoing()
        // Fail immediately if the connection is refused. The engine retries deliveries itself.
        configuration.connectionPool.retryConnectionEstablishment = false
        // Moderation requests must not wait for each other or for event deliveries.
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
        let body = try await response.body.collect(upTo: Self.maximumResponseBytes)
        // A cancelled body looks like a complete one.
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

/// Delivers events to the operator's webhook endpoint in the background.
struct WebhookDeliveryService: Service {
    let engine: Engine

    func run() async throws {
        await cancelWhenGracefulShutdown { await engine.runDeliveryLoop() }
    }
}
