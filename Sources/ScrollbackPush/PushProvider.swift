import Foundation
import ScrollbackEngine
import ScrollbackModel

/// Sends pushes to one service with one set of credentials.
///
/// A pure function next to each provider creates the payload according to the service's documentation
/// (`Documentation/push-services`).
protocol PushProvider: Sendable {
    func send(_ notification: PushNotification) async -> PushOutcome
}

/// An HTTP request to a push service.
package struct PushRequest: Hashable, Sendable {
    package var url: String
    /// The header fields with lower-case names.
    package var headers: [String: String]
    package var body: [UInt8]

    package init(url: String, headers: [String: String], body: [UInt8]) {
        self.url = url
        self.headers = headers
        self.body = body
    }
}

/// The HTTP response of a push service.
package struct PushResponse: Sendable {
    package var status: Int
    package var headers: [String: String]
    package var body: [UInt8]

    package init(status: Int, headers: [String: String] = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The seconds after which the service accepts the next request.
    ///
    /// If the header contains a date, it is compared with the service's own clock (RFC 9110 section 10.2.3).
    var retryAfter: Double? {
        guard let text = headers["retry-after"] else { return nil }
        if let seconds = Double(text) { return TimeInterval(requested: seconds) }
        guard let time = Date(http: text) else { return nil }
        return max(0, time.timeIntervalSince(headers["date"].flatMap { Date(http: $0) } ?? Date()))
    }
}

/// Sends HTTP requests to push services.
package protocol PushTransport: Sendable {
    /// Sends a request and waits up to 30 seconds for the response.
    ///
    /// - Throws: Any connection error.
    func post(_ request: PushRequest) async throws -> PushResponse
}
