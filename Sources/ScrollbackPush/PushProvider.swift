import Foundation
import ScrollbackEngine
import ScrollbackModel

/// Hands pushes to one service by one operator's credentials.
///
/// What a push looks like there is made by a pure function beside it, from the service's own pages
/// (`Documentation/push-services`).
protocol PushProvider: Sendable {
    func send(_ notification: PushNotification) async -> PushOutcome
}

/// A request to a service, before it is sent.
package struct PushRequest: Hashable, Sendable {
    package var url: String
    /// In lower case.
    package var headers: [String: String]
    package var body: [UInt8]

    package init(url: String, headers: [String: String], body: [UInt8]) {
        self.url = url
        self.headers = headers
        self.body = body
    }
}

/// What a service answered.
package struct PushResponse: Sendable {
    package var status: Int
    package var headers: [String: String]
    package var body: [UInt8]

    package init(status: Int, headers: [String: String] = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The seconds it asks to be let be for.
    ///
    /// It may name a time instead, which is by its own clock (RFC 9110, 10.2.3).
    var retryAfter: Double? {
        guard let text = headers["retry-after"] else { return nil }
        if let seconds = Double(text) { return max(0, seconds) }
        guard let time = Date(http: text) else { return nil }
        return max(0, time.timeIntervalSince(headers["date"].flatMap { Date(http: $0) } ?? Date()))
    }
}

/// Speaks HTTP with the services.
package protocol PushTransport: Sendable {
    /// - Throws: what went wrong on the way; half a minute is the most it takes.
    func post(_ request: PushRequest) async throws -> PushResponse
}
