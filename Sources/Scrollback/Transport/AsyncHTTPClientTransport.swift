import AsyncHTTPClient
package import Foundation
package import NIOCore
import NIOHTTP1
import NIOSSL
package import ScrollbackModel

/// An HTTP transport based on AsyncHTTPClient, for platforms without a suitable URLSession and for custom certificates.
package final class AsyncHTTPClientTransport: HTTPTransport {
    private let client: HTTPClient
    /// Whether this transport created its client and must shut it down; the shared client must not be shut down.
    private let isOwn: Bool

    /// A shared client like `HTTPClient.shared`, which would also accept older versions of TLS.
    private static let shared: HTTPClient = {
        var configuration = HTTPClient.Configuration.singletonConfiguration
        configuration.tlsConfiguration = .client()
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    /// - Parameters:
    ///   - certificate: A PEM file to trust instead of the system's certificates.
    ///   - readTimeout: The read timeout during a response, if there is a certificate. Without a certificate it is 90
    ///     seconds.
    package init(trusting certificate: URL? = nil, readTimeout: TimeAmount = .seconds(60)) {
        guard let certificate else {
            client = Self.shared
            isOwn = false
            return
        }
        client = HTTPClient(
            eventLoopGroupProvider: .singleton,
            configuration: HTTPClient.Configuration(
                tlsConfiguration: .client(trusting: certificate), timeout: .init(read: readTimeout)))
        isOwn = true
    }

    deinit {
        if isOwn { Task { [client] in try? await client.shutdown() } }
    }

    package func exchange(_ exchange: HTTPExchange) async throws(ChatError) -> HTTPExchange.Answer {
        do {
            var request = HTTPClientRequest(url: exchange.url.absoluteString)
            request.method = HTTPMethod(rawValue: exchange.method)
            for (name, value) in exchange.headers { request.headers.add(name: name, value: value) }
            if !exchange.body.isEmpty { request.body = .bytes(ByteBuffer(bytes: exchange.body)) }
            let response = try await client.execute(request, timeout: .seconds(Int64(exchange.timeout)))
            let body = try await response.body.collect(upTo: exchange.answerLimit)
            var headers: [String: String] = [:]
            for (name, value) in response.headers { headers[name.lowercased()] = value }
            return HTTPExchange.Answer(
                status: Int(response.status.code), headers: headers, body: Data(body.readableBytesView))
        } catch is NIOTooManyBytesError {
            throw ChatError(.malformed, "The response is larger than requested.")
        } catch {
            throw ChatError(.unreachable, "\(exchange.url.host() ?? "The server") can't be reached.", cause: error)
        }
    }
}
