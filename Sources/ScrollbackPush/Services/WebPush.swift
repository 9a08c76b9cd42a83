import Crypto
import Foundation
import JWTKit
import ScrollbackEngine
import ScrollbackModel
import Synchronization

/// Web Push (RFC 8030) with VAPID authentication (RFC 8292) and end-to-end encrypted payloads (RFC 8291).
package final class WebPush: PushProvider {
    private let transport: any PushTransport
    private let key: P256.Signing.PrivateKey
    private let subject: String
    private let hosts: [String]
    private let retrySeconds: Double
    private let clock: @Sendable () -> Date
    /// The access tokens by service origin.
    private let tokens = Mutex<[String: TokenCache]>([:])

    /// The hosts of known push services.
    ///
    /// Users choose the URL to which the server posts. The list prevents requests to the operator's internal network.
    private static let knownHosts = [
        "push.apple.com", "fcm.googleapis.com", "push.services.mozilla.com", "notify.windows.com",
    ]
    /// The token lifetime in seconds.
    ///
    /// The standard allows up to 24 hours.
    private static let tokenLifetime: TimeInterval = 12 * 3600
    private static let maximumOrigins = 1000

    private struct Claims: JWTPayload {
        var aud: String
        var exp: Int
        var sub: String
        func verify(using algorithm: some JWTAlgorithm) {}
    }

    init(_ credentials: PushCredentials, over transport: any PushTransport, clock: @escaping @Sendable () -> Date)
        throws
    {
        self.transport = transport
        self.clock = clock
        let bytes = Data(base64URL: try credentials.text("privateKey"))
        guard let bytes, let key = try? P256.Signing.PrivateKey(rawRepresentation: bytes) else {
            throw credentials.invalid("privateKey", "must be a P-256 private key: 32 bytes in base64url")
        }
        self.key = key
        subject = try credentials.text("subject")
        guard subject.hasPrefix("mailto:") || subject.hasPrefix("https://") else {
            throw credentials.invalid("subject", "must be a mailto: or https: URL with your contact address")
        }
        hosts = Self.knownHosts + (try credentials.texts("hosts"))
        retrySeconds = try credentials.seconds("retrySeconds", in: 0...86_400, or: 10)
    }

    func send(_ notification: PushNotification) async -> PushOutcome {
        guard let keys = notification.device.keys, let endpoint = try? WebPushEndpoint(notification.device.token)
        else { return .refused("the device has no subscription with an https URL and keys") }
        guard allows(endpoint) else {
            let address = endpoint.origin.dropFirst("https://".count)
            return .refused("\(address) is not an allowed push service: add it to hosts")
        }
        do {
            let token = try await cache(of: endpoint.origin).token()
            let application = Data(key.publicKey.x963Representation).base64URL
            let request = try Self.request(
                for: notification, keys: keys, authorization: "vapid t=\(token), k=\(application)", now: clock())
            guard let request else { return .refused("the payload exceeds \(Self.payloadLimit) bytes") }
            return outcome(of: try await transport.post(request))
        } catch is WebPushKeys.Unusable {
            // No browser can decrypt the push.
            return .gone(since: nil)
        } catch {
            return .later(after: nil, "no answer: \(error)")
        }
    }

    /// Returns whether the operator allows a push service; ports other than 443 need an entry of their own.
    private func allows(_ endpoint: WebPushEndpoint) -> Bool {
        if let port = endpoint.port, port != 443 { return hosts.contains("\(endpoint.host):\(port)") }
        return hosts.contains { endpoint.host == $0 || endpoint.host.hasSuffix(".\($0)") }
    }

    private func cache(of origin: String) -> TokenCache {
        tokens.withLock { tokens in
            if let known = tokens[origin] { return known }
            if tokens.count >= Self.maximumOrigins { tokens.removeAll() }
            let made = TokenCache(minimumAge: 3600, clock: clock) { [key, subject, clock] in
                let expiry = clock() + Self.tokenLifetime
                let claims = Claims(aud: origin, exp: Int(expiry.timeIntervalSince1970), sub: subject)
                let text = try await JWTKeyCollection().add(ecdsa: ES256PrivateKey(backing: key)).sign(claims)
                return TokenCache.Token(text: text, renewAt: expiry - 3600)
            }
            tokens[origin] = made
            return made
        }
    }

    private func outcome(of response: PushResponse) -> PushOutcome {
        switch response.status {
        case 200..<300: .sent
        case 404, 410: .gone(since: nil)
        // The server's key differs from the subscription's key. The operator must fix this.
        case 401, 403: .refused("status \(response.status)")
        case 429: .later(after: response.retryAfter ?? 60, "status 429")
        case 408, 500...: .later(after: response.retryAfter ?? retrySeconds, "status \(response.status)")
        default: .refused("status \(response.status)")
        }
    }
}
