import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOSSL
import Synchronization

/// The services that speak HTTP/1.1, over TLS.
package final class HTTPPushTransport: PushTransport {
    /// Made when it is needed first: most servers push nothing.
    private let client = Mutex<HTTPClient?>(nil)
    private let authorities: String?
    private let agent: String

    /// How long a service may take to answer.
    private static let timeout = Duration.seconds(30)
    /// The most bytes of an answer that are read: one to a batch names its devices.
    private static let answerBytes = 512 << 10

    /// - Parameters:
    ///   - agent: what it calls itself.
    ///   - authorities: a PEM file of certificate authorities that are trusted besides the system's.
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
            // Opening and closing often is treated as an attack by some of them.
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
        let body = try await response.body.collect(upTo: Self.answerBytes)
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
