import ScrollbackEngine

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

    /// The seconds it asks to be let be for; a date is none.
    var retryAfter: Double? { headers["retry-after"].flatMap { Double($0) }.map { max(0, $0) } }
}

/// Speaks HTTP with the services.
package protocol PushTransport: Sendable {
    /// - Throws: what went wrong on the way; half a minute is the most it takes.
    func post(_ request: PushRequest) async throws -> PushResponse
}
