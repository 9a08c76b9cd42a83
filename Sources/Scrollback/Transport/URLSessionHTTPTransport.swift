import Foundation
package import ScrollbackModel
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// An HTTP transport based on URLSession, which uses the system's network and proxy settings.
package final class URLSessionHTTPTransport: HTTPTransport {
    private let session: URLSession
    private let receiver = Receiver()

    package init() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        session = URLSession(configuration: configuration, delegate: receiver, delegateQueue: nil)
    }

    // A session retains its delegate until it is invalidated.
    deinit { session.finishTasksAndInvalidate() }

    package func exchange(_ exchange: HTTPExchange) async throws(ChatError) -> HTTPExchange.Answer {
        var request = URLRequest(url: exchange.url)
        request.httpMethod = exchange.method
        request.timeoutInterval = TimeInterval(exchange.timeout)
        for (name, value) in exchange.headers { request.setValue(value, forHTTPHeaderField: name) }
        if !exchange.body.isEmpty { request.httpBody = exchange.body }
        let task = session.dataTask(with: request)
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                receiver.begin(task, limit: exchange.answerLimit, continuation)
                // A task that was cancelled before it was registered would never report its completion.
                if Task.isCancelled {
                    receiver.urlSession(session, task: task, didCompleteWithError: URLError(.cancelled))
                } else {
                    task.resume()
                }
            }
        } onCancel: {
            task.cancel()
        }
        let body: Data
        switch outcome {
        case .complete(let data): body = data
        case .tooLarge: throw ChatError(.malformed, "The response is larger than requested.")
        case .failed(let error):
            throw ChatError(.unreachable, "\(exchange.url.host() ?? "The server") can't be reached.", cause: error)
        }
        guard let response = task.response as? HTTPURLResponse else {
            throw ChatError(.malformed, "The response is not an HTTP response.")
        }
        var headers: [String: String] = [:]
        for (name, value) in response.allHeaderFields {
            if let name = name as? String, let value = value as? String { headers[name.lowercased()] = value }
        }
        return HTTPExchange.Answer(status: response.statusCode, headers: headers, body: body)
    }
}

/// Collects response bodies and cancels requests whose response exceeds its limit.
private final class Receiver: NSObject, URLSessionDataDelegate, Sendable {
    enum Outcome: Sendable {
        case complete(Data)
        case tooLarge
        case failed(any Error)
    }

    private struct Answer {
        let limit: Int
        let continuation: CheckedContinuation<Outcome, Never>
        var body = Data()
        var isTooLarge = false

        /// - Returns: Whether the response exceeds its limit.
        mutating func take(_ data: Data) -> Bool {
            isTooLarge = isTooLarge || data.count > limit - body.count
            if isTooLarge { body = Data() } else { body.append(data) }
            return isTooLarge
        }

        func outcome(_ error: (any Error)?) -> Outcome {
            if isTooLarge { return .tooLarge }
            return error.map { .failed($0) } ?? .complete(body)
        }
    }

    /// The responses in progress by task identifier.
    private let answers = Mutex<[Int: Answer]>([:])

    func begin(_ task: URLSessionTask, limit: Int, _ continuation: CheckedContinuation<Outcome, Never>) {
        answers.withLock { $0[task.taskIdentifier] = Answer(limit: limit, continuation: continuation) }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isTooLarge = answers.withLock { $0[dataTask.taskIdentifier]?.take(data) ?? true }
        if isTooLarge { dataTask.cancel() }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let answer = answers.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
        answer.continuation.resume(returning: answer.outcome(error))
    }
}
