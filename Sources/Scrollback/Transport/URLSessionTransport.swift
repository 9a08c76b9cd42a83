package import Foundation
package import ScrollbackModel
import ScrollbackWire
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A WebSocket transport based on URLSession, which uses the system's network and proxy settings.
package struct URLSessionTransport: Transport {
    package init() {}

    package func open(
        _ url: URL, events: @escaping @Sendable (TransportEvent) -> Void
    ) async throws(ChatError) -> any TransportConnection {
        guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else {
            throw .invalidParameter("server", "must be a URL")
        }
        parts.scheme = parts.scheme == "http" || parts.scheme == "ws" ? "ws" : "wss"
        parts.path = (parts.path.hasSuffix("/") ? String(parts.path.dropLast()) : parts.path) + "/v1/connect"
        guard let address = parts.url else { throw .invalidParameter("server", "must be a URL") }
        let connection = URLSessionConnection(address, events: events)
        do {
            try await connection.opened()
        } catch {
            throw ChatError(.unreachable, "The server at \(url.host() ?? "?") can't be reached.", cause: error)
        }
        return connection
    }
}

private final class URLSessionConnection: NSObject, TransportConnection, URLSessionWebSocketDelegate {
    private let events: @Sendable (TransportEvent) -> Void
    private let state = Mutex(State())

    private struct State {
        var task: URLSessionWebSocketTask?
        var opening: CheckedContinuation<Void, any Error>?
        var isOpen = false
        var hasEnded = false
    }

    init(_ url: URL, events: @escaping @Sendable (TransportEvent) -> Void) {
        self.events = events
        super.init()
        let session = URLSession(configuration: .default, delegate: self, delegateQueue: nil)
        let task = session.webSocketTask(with: url, protocols: [HelloFrame.subprotocol])
        task.maximumMessageSize = 1 << 26
        state.withLock { $0.task = task }
        // The session retains its delegate until its last task is complete.
        session.finishTasksAndInvalidate()
    }

    func opened() async throws {
        try await withCheckedThrowingContinuation { continuation in
            let task = state.withLock { state in
                state.opening = continuation
                return state.task
            }
            task?.resume()
        }
    }

    func send(_ frame: [UInt8]) {
        let task = state.withLock { $0.task }
        task?.send(.string(String(decoding: frame, as: UTF8.self))) { _ in }
    }

    func close() {
        let task = state.withLock { $0.task }
        task?.cancel(with: .normalClosure, reason: nil)
    }

    private func receive() {
        let task = state.withLock { $0.task }
        task?.receive { [self] result in
            switch result {
            case .success(.string(let text)):
                events(.frame(Array(text.utf8)))
                receive()
            case .success: receive()
            case .failure: end(TransportClosure(reason: "The connection was lost."))
            }
        }
    }

    private func end(_ closure: TransportClosure) {
        let mustNotify = state.withLock { state in
            defer { state.hasEnded = true }
            return state.isOpen && !state.hasEnded
        }
        if mustNotify { events(.closed(closure)) }
    }

    // MARK: URLSessionWebSocketDelegate

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
    ) {
        let opening = state.withLock { state in
            defer { state.opening = nil }
            state.isOpen = true
            return state.opening
        }
        receive()
        opening?.resume()
    }

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
    ) {
        end(TransportClosure(code: closeCode.rawValue, reason: String(decoding: reason ?? Data(), as: UTF8.self)))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let opening = state.withLock { state in
            defer { state.opening = nil }
            return state.opening
        }
        opening?.resume(throwing: error ?? ChatError(.unreachable, "The connection was refused."))
        end(TransportClosure(reason: "The connection was lost."))
    }
}
