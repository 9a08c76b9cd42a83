import Foundation
import ScrollbackModel

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// HTTP by the system, which knows its networks and proxies.
struct URLSessionHTTPTransport: HTTPTransport {
    private let session: URLSession

    init() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 60
        configuration.urlCache = nil
        session = URLSession(configuration: configuration)
    }

    func exchange(_ exchange: HTTPExchange) async throws(ChatError) -> HTTPExchange.Answer {
        var request = URLRequest(url: exchange.url)
        request.httpMethod = exchange.method
        for (name, value) in exchange.headers { request.setValue(value, forHTTPHeaderField: name) }
        if !exchange.body.isEmpty { request.httpBody = exchange.body }
        let (body, response): (Data, URLResponse)
        do {
            (body, response) = try await session.data(for: request)
        } catch {
            throw ChatError(.unreachable, "\(exchange.url.host() ?? "the server") can't be reached", cause: error)
        }
        guard let response = response as? HTTPURLResponse else {
            throw ChatError(.malformed, "the answer is not HTTP")
        }
        guard body.count <= exchange.answerLimit else {
            throw ChatError(.malformed, "the answer is larger than what was asked for")
        }
        var headers: [String: String] = [:]
        for (name, value) in response.allHeaderFields {
            if let name = name as? String, let value = value as? String { headers[name.lowercased()] = value }
        }
        return HTTPExchange.Answer(status: response.statusCode, headers: headers, body: body)
    }
}
