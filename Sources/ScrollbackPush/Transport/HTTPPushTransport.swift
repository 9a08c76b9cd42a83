import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOSSL
import Synchronization

/// A transport for push services that support HTTP/1.1 over TLS.
package final class HTTPPushTransport: PushTransport {
    /// The HTTP client, created on first use because most servers send no pushes.
    private let client = Mutex<HTTPClient?>(nil)
    private let authorities: String?
    private let agent: String

    /// The time limit for a response.
    private static let timeout = Duration.seconds(30)
    /// The maximum number of bytes read from a response.
    ///
    /// The response to a batch lists its devices.
    private static let maximumResponseBytes = 512 << 10

    /// Creates a transport.
    ///
    /// - Parameters:
    ///   - agent: The value of the `User-Agent` header.
    ///   - authorities: A PEM file of certificate authorities to trust in addition to the system's.
    package init(agent: String, authorities: String? = nil) {
        self.agent = agent
        self.authorities = authorities
    }

    private func openClient() -> HTTPClient {
        client.withLock { client in
            if let client { return client }
            var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
            configuration.timeout.connect = .seconds(10)
            configuration.httpVersion = .http1Only
            // Some services treat frequent reconnecting as an attack.
            configuration.connectionPool.idleTimeout = .hours(1)
            configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
            configuration.connectionPool.retryConnectionEstablishment = false
            configuration.tlsConfiguration = .outgoing(trustingAlso: authorities)
            let new = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
            client = new
            return new
        }
    }

    package func post(_ request: PushRequest) async throws -> PushResponse {
        try await withDeadline(Self.timeout) { try await self.exchange(request) }
    }

    private func exchange(_ request: PushRequest) async throws -> PushResponse {
        var post = HTTPClientRequest(url: request.url)
        post.method = .POST
        for (name, value) in request.headers { post.headers.add(name: name, value: value) }
        post.headers.add(name: "user-agent", value: agent)
        post.body = .bytes(ByteBuffer(bytes: request.body))
        let response = try await openClient().execute(post, timeout: TimeAmount(Self.timeout))
        let body = try await response.body.collect(upTo: Self.maximumResponseBytes)
        try Task.checkCancellation()
        let headers = Dictionary(response.headers.map { ($0.name.lowercased(), $0.value) }, uniquingKeysWith: { $1 })
        return PushResponse(status: Int(response.status.code), headers: headers, body: Array(buffer: body))
    }

    package func shutdown() async {
        let client = self.client.withLock { client in
            defer { client = nil }
            return client
        }
        try? await client?.shutdown()
    }
}
