import Crypto
import Foundation
import ScrollbackEngine
import ScrollbackModel

/// vivo Push, also for iQOO.
package struct Vivo: PushProvider {
    private let transport: any PushTransport
    private let host: String
    private let setup: Setup
    private let retrySeconds: Double
    private let tokens: TokenCache
    private let clock: @Sendable () -> Date

    /// The service's tokens are valid for 24 hours, but vivo recommends renewing them every one to two hours.
    private static let tokenLifetime: TimeInterval = 2 * 3600

    /// The message classification.
    private enum Purpose: String, CaseIterable {
        case marketing, system
    }

    init(_ credentials: PushCredentials, over transport: any PushTransport, clock: @escaping @Sendable () -> Date)
        throws
    {
        self.transport = transport
        self.clock = clock
        let appID = try credentials.number("appID")
        let (key, secret) = (try credentials.text("appKey"), try credentials.text("appSecret"))
        let host = try credentials.endpoint(or: "https://api-push.vivo.com.cn")
        self.host = host
        var setup = Setup(appID: appID)
        let purpose: Purpose = try credentials.choice("type", or: .system)
        // A category is valid only for one of the two types.
        if purpose == .marketing { setup.purpose = PushOptions.Android.Vivo(type: .marketing) }
        if let category = try credentials.optionalText("category") { setup.purpose.category = category }
        setup.addsBadge = try credentials.flag("addsBadge")
        setup.title = try credentials.optionalText("title")
        self.setup = setup
        let retrySeconds = try credentials.seconds("retrySeconds", in: 0...86_400, or: 10)
        self.retrySeconds = retrySeconds
        tokens = TokenCache(minimumAge: 60, clock: clock) {
            try await Self.token(
                appID, key, secret, at: host, retrySeconds, over: transport, now: clock())
        }
    }

    /// Requests an access token.
    ///
    /// The request contains a signature instead of the secret.
    private static func token(
        _ appID: Int, _ key: String, _ secret: String, at host: String, _ retrySeconds: Double,
        over transport: any PushTransport, now: Date
    ) async throws -> TokenCache.Token {
        let milliseconds = Int64(now.timeIntervalSince1970 * 1000)
        // The API requires MD5. Its weakness does no harm here, because an attacker can't choose the signed text.
        let signature = Insecure.MD5.hash(data: Data("\(appID)\(key)\(milliseconds)\(secret)".utf8)).hexadecimal
        var writer = JSONWriter()
        writer.object { writer in
            writer.field("appId", appID)
            writer.field("appKey", key)
            writer.field("timestamp", milliseconds)
            writer.field("sign", signature)
        }
        let response = try await transport.post(PushRequest(url: "\(host)/message/auth", json: writer.bytes))
        guard let answer = CodedResponse(response, code: "result", message: "desc") else {
            throw TokenRequestError(response, retrySeconds: retrySeconds)
        }
        guard answer.code == "0", let text = answer.text("authToken") else {
            throw TokenRequestError(
                reason: answer.code, after: retryDelay(after: answer.code) ?? PushRetryDelay.credentialsRejected)
        }
        return TokenCache.Token(text: text, renewAt: now + tokenLifetime)
    }

    func send(_ notification: PushNotification) async -> PushOutcome {
        guard let body = Self.body(for: notification, setup, now: clock()) else {
            return .refused("the custom data exceeds the limit of vivo Push")
        }
        return await withToken(of: tokens) { token in
            let request = PushRequest(url: "\(host)/message/send", headers: ["authtoken": token], json: body)
            return answer(to: try await transport.post(request), of: notification)
        }
    }

    private func answer(to response: PushResponse, of notification: PushNotification) -> PushAnswer {
        guard let answer = CodedResponse(response, code: "result", message: "desc") else {
            return PushAnswer(response, retrySeconds: retrySeconds, reason: nil)
        }
        if let wait = Self.retryDelay(after: answer.code) {
            return .settled(.later(after: response.retryAfter ?? wait, answer.code))
        }
        switch (answer.code, answer.object("invalidUser")["status"] as? Int) {
        // The token belongs to another app, or the app was uninstalled.
        case (_, 1?), (_, 2?), ("10302", _): return .settled(.gone(since: nil))
        case ("0", nil): return .settled(.sent)
        case ("0", let status?): return .settled(.refused("invalidUser \(status)"))
        case ("10000", _): return .unauthorized(answer.code)
        // Omit the description, because it can contain the message's text.
        case ("10085", _), ("10103", _), ("10104", _): return .settled(.refused(answer.code))
        default:
            let reason = notification.reason(answer.code, answer.message)
            return PushAnswer(response, retrySeconds: retrySeconds, reason: reason)
        }
    }

    /// Returns the delay in seconds after a temporary error, or `nil` for other codes.
    private static func retryDelay(after code: String) -> Double? {
        switch code {
        case "10040", "10072", "10093": PushRetryDelay.rateLimited
        // Code 10071 means that the service does not accept this kind of message at night.
        case "10070", "10071", "10073": PushRetryDelay.quota
        default: nil
        }
    }
}
