import Foundation
import JWTKit
import ScrollbackEngine
import ScrollbackModel

/// The Apple Push Notification service over HTTP/2 with token-based authentication.
package struct APNS: PushProvider {
    private let transport: any PushTransport
    private let topic: String
    private let production: String
    private let development: String
    private let retrySeconds: Double
    private let tokens: TokenCache

    /// Apple requires that provider tokens are at most one hour old and are not replaced within 20 minutes.
    private static let tokenLifetime: TimeInterval = 45 * 60
    private static let tokenMinimumAge: TimeInterval = 20 * 60

    private struct Claims: JWTPayload {
        var iss: String
        var iat: Int
        func verify(using algorithm: some JWTAlgorithm) {}
    }

    init(_ credentials: PushCredentials, over transport: any PushTransport, clock: @escaping @Sendable () -> Date)
        throws
    {
        self.transport = transport
        topic = try credentials.text("topic")
        production = try credentials.endpoint(or: "https://api.push.apple.com")
        development = try credentials.endpoint(or: "https://api.sandbox.push.apple.com")
        // The delay after a 5xx error. Apple recommends 15 minutes.
        retrySeconds = try credentials.seconds("retrySeconds", in: 0...86_400, or: 900)
        let (keyID, teamID) = (try credentials.text("keyID"), try credentials.text("teamID"))
        for (name, id) in [("keyID", keyID), ("teamID", teamID)] where id.utf8.count != 10 {
            throw credentials.invalid(name, "must have 10 characters")
        }
        let text = try credentials.text("key")
        guard let key = try? ES256PrivateKey(pem: text) else {
            throw credentials.invalid("key", "must be the content of a .p8 file: a PEM private key for ES256")
        }
        tokens = TokenCache(minimumAge: Self.tokenMinimumAge, clock: clock) {
            let now = clock()
            let kid = JWKIdentifier(string: keyID)
            let claims = Claims(iss: teamID, iat: Int(now.timeIntervalSince1970))
            let text = try await JWTKeyCollection().add(ecdsa: key, kid: kid).sign(claims, kid: kid)
            return TokenCache.Token(text: text, renewAt: now + Self.tokenLifetime)
        }
    }

    func send(_ notification: PushNotification) async -> PushOutcome {
        do {
            let token = try await tokens.token()
            let outcome = try await post(notification, token)
            guard case .later(_, "ExpiredProviderToken") = outcome else { return outcome }
            return try await post(notification, try await tokens.token(after: token))
        } catch {
            return .later(after: nil, "no answer: \(error)")
        }
    }

    private func post(_ notification: PushNotification, _ token: String) async throws -> PushOutcome {
        let endpoint = notification.device.isDevelopment ? development : production
        guard
            let request = Self.request(for: notification, topic: topic, endpoint: endpoint, token: token)
        else { return .refused("the payload is larger than \(Self.payloadLimit) bytes") }
        return outcome(of: try await transport.post(request))
    }

    private func outcome(of response: PushResponse) -> PushOutcome {
        struct Failure: Decodable {
            var reason: String
            var timestamp: Double?
        }
        if response.status == 200 { return .sent }
        let failure = try? JSONDecoder().decode(Failure.self, from: Data(response.body))
        let reason = failure?.reason ?? "status \(response.status)"
        switch (response.status, reason) {
        case (410, _):
            return .gone(since: failure?.timestamp.map { Date(timeIntervalSince1970: $0 / 1000) })
        case (400, "BadDeviceToken"): return .gone(since: nil)
        case (400, "IdleTimeout"), (503, "Shutdown"): return .later(after: response.retryAfter, reason)
        case (403, "ExpiredProviderToken"): return .later(after: nil, reason)
        // Retry until the operator fixes the credentials or the push expires.
        case (403, _): return .later(after: retrySeconds, reason)
        case (429, "TooManyProviderTokenUpdates"): return .later(after: max(60, response.retryAfter ?? 0), reason)
        case (429, _): return .later(after: response.retryAfter, reason)
        case (500..., _): return .later(after: response.retryAfter ?? retrySeconds, reason)
        default: return .refused(reason)
        }
    }
}
