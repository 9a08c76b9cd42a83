import Foundation
import ScrollbackEngine
import ScrollbackModel

/// Honor Push.
package struct Honor: PushProvider {
    private let transport: any PushTransport
    private let address: String
    private let setup: Setup
    private let retrySeconds: Double
    private let tokens: TokenCache
    private let clock: @Sendable () -> Date

    init(_ credentials: PushCredentials, over transport: any PushTransport, clock: @escaping @Sendable () -> Date)
        throws
    {
        self.transport = transport
        self.clock = clock
        // The app ID differs from the client ID.
        let appID = try credentials.text("appID")
        let (client, secret) = (try credentials.text("clientID"), try credentials.text("clientSecret"))
        let host = try credentials.endpoint(or: "https://push-api.cloud.honor.com")
        address = "\(host)/api/v1/\(appID.percentEncoded)/sendMessage"
        var setup = Setup()
        setup.badgeClass = try credentials.optionalText("badgeClass")
        setup.importance = try credentials.choice("importance", or: .normal)
        setup.title = try credentials.optionalText("title")
        self.setup = setup
        retrySeconds = try credentials.seconds("retrySeconds", in: 0...86_400, or: 10)
        tokens = AccessGrant.tokens(
            id: client, secret: secret,
            at: try credentials.tokenEndpoint(or: "https://iam.developer.honor.com/auth/token"),
            retrySeconds: retrySeconds, over: transport, clock: clock)
    }

    func send(_ notification: PushNotification) async -> PushOutcome {
        guard let body = Self.body(for: notification, setup, now: clock()) else {
            return .refused("the payload exceeds \(Self.payloadLimit) bytes")
        }
        return await withToken(of: tokens) { token in
            let milliseconds = Int64(clock().timeIntervalSince1970 * 1000)
            let headers = ["authorization": "Bearer \(token)", "timestamp": String(milliseconds)]
            let response = try await transport.post(PushRequest(url: address, headers: headers, json: body))
            return answer(to: response, of: notification)
        }
    }

    /// The documentation does not say whether 400 to 503 are HTTP statuses or codes.
    ///
    /// Both have the same meaning.
    private func answer(to response: PushResponse, of notification: PushNotification) -> PushAnswer {
        guard let answer = CodedResponse(response, code: "code", message: "message") else {
            return PushAnswer(response, retrySeconds: retrySeconds, reason: nil)
        }
        switch answer.code {
        case "200", "80000000", "80100000": return .settled(outcome(of: answer, for: notification.device.token))
        case "80300007": return .settled(.gone(since: nil))
        case "401", "403", "80200001", "80200003", "80200005": return .unauthorized(answer.code)
        case "80200047": return .settled(.later(after: response.retryAfter ?? PushRetryDelay.quota, answer.code))
        case "429": return .settled(.later(after: response.retryAfter ?? PushRetryDelay.rateLimited, answer.code))
        case "500", "502", "503": return .settled(.later(after: response.retryAfter ?? retrySeconds, answer.code))
        // Omit the description, because it can contain the message's text.
        case "80200056": return .settled(.refused(answer.code))
        default:
            let reason = notification.reason(answer.code, answer.message)
            return PushAnswer(response, retrySeconds: retrySeconds, reason: reason)
        }
    }

    /// An accepted request lists the tokens for which it failed.
    private func outcome(of answer: CodedResponse, for token: String) -> PushOutcome {
        let data = answer.object("data")
        func names(_ list: String) -> Bool { (data[list] as? [String])?.contains(token) ?? false }
        if names("expireTokens") { return .gone(since: nil) }
        return names("failTokens") ? .refused("\(answer.code) failTokens") : .sent
    }
}
