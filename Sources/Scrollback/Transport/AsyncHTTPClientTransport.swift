import AsyncHTTPClient
package import Foundation
package import NIOCore
import NIOHTTP1
import NIOSSL
package import ScrollbackModel

/// HTTP where there is no URLSession worth using, and where a certificate of one's own is to be trusted.
package final class AsyncHTTPClientTransport: HTTPTransport {
    private let client: HTTPClient
    /// A client of its own has to be shut down; the shared one must not be.
    private let isOwn: Bool

    /// As the library's own, which takes older versions of TLS too.
    private static let shared: HTTPClient = {
        var configuration = HTTPClient.Configuration.singletonConfiguration
        configuration.tlsConfiguration = .client()
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    /// - Parameters:
    ///   - certificate: a PEM file to trust instead of the system's certificates.
    ///   - silence: how long a server may say nothing in the middle of an answer, where there is a certificate; else it is a
    ///     minute and a half.
    package init(trusting certificate: URL? = nil, silence: TimeAmount = .seconds(60)) {
        guard let certificate else {
            client = Self.shared
            isOwn = false
            return
        }
        client = HTTPClient(
            eventLoopGroupProvider: .singleton,
            configuration: HTTPClient.Configuration(
                tlsConfiguration: .client(trusting: certificate), timeout: .init(read: silence)))
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
            let response = try await client.execute(request, timeout: .seconds(60))
            let body = try await response.body.collect(upTo: exchange.answerLimit)
            var headers: [String: String] = [:]
            for (name, value) in response.headers { headers[name.lowercased()] = value }
            return HTTPExchange.Answer(
                status: Int(response.status.code), headers: headers, body: Data(body.readableBytesView))
        } catch is NIOTooManyBytesError {
            throw ChatError(.malformed, "the answer is larger than what was asked for")
        } catch {
            throw ChatError(.unreachable, "\(exchange.url.host() ?? "the server") can't be reached", cause: error)
        }
    }
}
