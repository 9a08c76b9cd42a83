import Foundation
import ScrollbackEngine
import ScrollbackModel

/// Huawei Push Kit, for Android phones with HMS Core and for HarmonyOS before version 5.
package struct Huawei: PushProvider {
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
        let (appID, secret) = (try credentials.text("appID"), try credentials.text("appSecret"))
        let host = try credentials.endpoint(or: "https://push-api.cloud.huawei.com")
        address = "\(host)/v1/\(appID.percentEncoded)/messages:send"
        var setup = Setup()
        setup.badgeClass = try credentials.optionalText("badgeClass")
        setup.category = try credentials.optionalText("category")
        setup.channel = try credentials.optionalText("channel")
        setup.title = try credentials.optionalText("title")
        self.setup = setup
        retrySeconds = try credentials.seconds("retrySeconds", in: 0...86_400, or: 10)
        tokens = AccessGrant.tokens(
            id: appID, secret: secret,
            at: try credentials.tokenEndpoint(or: "https://oauth-login.cloud.huawei.com/oauth2/v3/token"),
            retrySeconds: retrySeconds, over: transport, clock: clock)
    }

    func send(_ notification: PushNotification) async -> PushOutcome {
        guard let body = Self.body(for: notification, setup, now: clock()) else {
            return .refused("the payload exceeds \(Self.payloadLimit) bytes")
        }
        return await withToken(of: tokens) { token in
            let request = PushRequest(url: address, headers: ["authorization": "Bearer \(token)"], json: body)
            return answer(to: try await transport.post(request), of: notification)
        }
    }

    /// The code in the body takes precedence over the HTTP status.
    private func answer(to response: PushResponse, of notification: PushNotification) -> PushAnswer {
        guard let answer = CodedResponse(response, code: "code", message: "msg") else {
            return PushAnswer(response, retrySeconds: retrySeconds, reason: nil)
        }
        switch answer.code {
        case "80000000": return .settled(.sent)
        case "80100000":
            // Some tokens are invalid. The request has only one.
            guard let refused = answer.details?["illegal_tokens"] as? [String] else {
                return .settled(.refused(answer.code))
            }
            return .settled(refused.contains(notification.device.token) ? .gone(since: nil) : .sent)
        case "80300007": return .settled(.gone(since: nil))
        case "80200001", "80200003", "80200005": return .unauthorized(answer.code)
        case "80100017": return .settled(.later(after: response.retryAfter ?? PushRetryDelay.rateLimited, answer.code))
        case "80600003", "81000001":
            return .settled(.later(after: response.retryAfter ?? retrySeconds, answer.code))
        // Omit the description, because it can contain the message's text.
        case "80100016": return .settled(.refused(answer.code))
        default:
            let reason = notification.reason(answer.code, answer.message)
            return PushAnswer(response, retrySeconds: retrySeconds, reason: reason)
        }
    }
}
