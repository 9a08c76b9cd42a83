import Foundation
package import ScrollbackModel
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// HTTP by the system, which knows its networks and proxies.
package struct URLSessionHTTPTransport: HTTPTransport {
    private let session: URLSession

    package init() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 60
        configuration.urlCache = nil
        session = URLSession(configuration: configuration)
    }

    package func exchange(_ exchange: HTTPExchange) async throws(ChatError) -> HTTPExchange.Answer {
        var request = URLRequest(url: exchange.url)
        request.httpMethod = exchange.method
        for (name, value) in exchange.headers { request.setValue(value, forHTTPHeaderField: name) }
        if !exchange.body.isEmpty { request.httpBody = exchange.body }
        let task = session.dataTask(with: request)
        let receiver = Receiver(limit: exchange.answerLimit)
        task.delegate = receiver
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                receiver.begin(continuation)
                task.resume()
            }
        } onCancel: {
            task.cancel()
        }
        let body: Data
        switch outcome {
        case .whole(let data): body = data
        case .tooLarge: throw ChatError(.malformed, "the answer is larger than what was asked for")
        case .failed(let error):
            throw ChatError(.unreachable, "\(exchange.url.host() ?? "the server") can't be reached", cause: error)
        }
        guard let response = task.response as? HTTPURLResponse else {
            throw ChatError(.malformed, "the answer is not HTTP")
        }
        var headers: [String: String] = [:]
        for (name, value) in response.allHeaderFields {
            if let name = name as? String, let value = value as? String { headers[name.lowercased()] = value }
        }
        return HTTPExchange.Answer(status: response.statusCode, headers: headers, body: body)
    }
}

/// Takes an answer as it comes, and ends it where it grows beyond its limit: how much comes is the other side's to decide.
private final class Receiver: NSObject, URLSessionDataDelegate, Sendable {
    enum Outcome: Sendable {
        case whole(Data)
        case tooLarge
        case failed(any Error)
    }

    private let limit: Int
    private let state = Mutex(State())

    private struct State {
        var body = Data()
        var isTooLarge = false
        var continuation: CheckedContinuation<Outcome, Never>?
    }

    init(limit: Int) {
        self.limit = limit
    }

    func begin(_ continuation: CheckedContinuation<Outcome, Never>) {
        state.withLock { $0.continuation = continuation }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isTooLarge = state.withLock { state in
            if state.isTooLarge || data.count > limit - state.body.count {
                state.isTooLarge = true
                state.body = Data()
            } else {
                state.body.append(data)
            }
            return state.isTooLarge
        }
        if isTooLarge { dataTask.cancel() }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let (continuation, outcome) = state.withLock { state in
            defer { state.continuation = nil }
            let outcome: Outcome =
                state.isTooLarge ? .tooLarge : error.map { .failed($0) } ?? .whole(state.body)
            return (state.continuation, outcome)
        }
        continuation?.resume(returning: outcome)
    }
}
