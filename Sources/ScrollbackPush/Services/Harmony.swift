import Foundation
import JWTKit
import ScrollbackEngine
import ScrollbackModel

/// Push Kit of HarmonyOS 5 and later.
package struct Harmony: PushProvider {
    private let transport: any PushTransport
    private let address: String
    /// The URL for withdrawing notifications, or `nil` if the operator did not set `clientID`.
    private let revocationAddress: String?
    private let setup: Setup
    private let retrySeconds: Double
    private let tokens: TokenCache
    private let clock: @Sendable () -> Date

    /// The audience of the token, as the service requires it.
    private static let audience = "https://oauth-login.cloud.huawei.com/oauth2/v3/token"
    private static let tokenLifetime = 3600
    /// The code for a push whose picture the service could not check.
    private static let imageRejectedCode = "80100022"
    /// The reasons that mark a token as permanently invalid.
    ///
    /// The documentation of `noRight` names an app of another project. For a request with one token, the usual cause is
    /// a token from before the phone's upgrade to HarmonyOS 5.
    private static let invalidTokenReasons = ["tokenFormatError", "tokenPlatformNotSupport", "noRight"]

    /// The required members of a service account's key file.
    private struct Account: Decodable {
        var projectID: String
        var keyID: String
        var key: String
        var subAccount: String

        enum CodingKeys: String, CodingKey {
            case projectID = "project_id"
            case keyID = "key_id"
            case key = "private_key"
            case subAccount = "sub_account"
        }
    }

    private struct Claims: JWTPayload {
        var iss: String
        var aud: String
        var iat: Int
        var exp: Int
        func verify(using algorithm: some JWTAlgorithm) {}
    }

    init(_ credentials: PushCredentials, over transport: any PushTransport, clock: @escaping @Sendable () -> Date)
        throws
    {
        self.transport = transport
        self.clock = clock
        let account: Account = try credentials.decoded(
            "serviceAccount",
            "must be the JSON object of a service account's key file with project_id, key_id, private_key, sub_account")
        guard !account.projectID.isEmpty else { throw credentials.invalid("serviceAccount", "must have a project_id") }
        guard let key = try? Insecure.RSA.PrivateKey(pem: account.key) else {
            throw credentials.invalid("serviceAccount", "must have a PEM RSA private key as its private_key")
        }
        let host = try credentials.endpoint(or: "https://push-api.cloud.huawei.com")
        address = "\(host)/v3/\(account.projectID.percentEncoded)/messages:send"
        // The path contains the app's client ID instead of the project ID.
        revocationAddress = try credentials.optionalText("clientID").map {
            "\(host)/v1/\($0.percentEncoded)/messages:revoke"
        }
        var setup = Setup()
        if let category = try credentials.optionalText("category") { setup.category = category }
        setup.title = try credentials.optionalText("title")
        self.setup = setup
        retrySeconds = try credentials.seconds("retrySeconds", in: 0...86_400, or: 10)
        tokens = TokenCache(minimumAge: 60, clock: clock) {
            let now = clock()
            let kid = JWKIdentifier(string: account.keyID)
            let issued = Int(now.timeIntervalSince1970)
            let claims = Claims(
                iss: account.subAccount, aud: Self.audience, iat: issued, exp: issued + Self.tokenLifetime)
            let text = try await JWTKeyCollection().add(pss: key, digestAlgorithm: .sha256, kid: kid)
                .sign(claims, kid: kid)
            return TokenCache.Token(text: text, renewAt: now + TimeInterval(Self.tokenLifetime) - 300)
        }
    }

    func send(_ notification: PushNotification) async -> PushOutcome {
        if let outcome = await withdraw(notification) { return outcome }
        let outcome = await post(notification)
        guard case .refused(let reason) = outcome, reason.hasPrefix(Self.imageRejectedCode),
            notification.options.harmony?.imageURL != nil
        else { return outcome }
        // Send the push again without its picture.
        var plain = notification
        plain.options.harmony?.imageURL = nil
        return await post(plain)
    }

    /// Withdraws the notification of a recalled message.
    ///
    /// - Returns: The outcome, or `nil` if the notification must be replaced instead.
    private func withdraw(_ notification: PushNotification) async -> PushOutcome? {
        guard notification.canBeWithdrawn, let revocationAddress else { return nil }
        let outcome = await post(Self.revocation(of: notification), to: revocationAddress, notification)
        switch outcome {
        case .sent: break
        case .gone, .later: return outcome
        case .refused: return nil
        }
        // Withdrawing does not change the badge. If the service refuses this push, the next one updates the badge.
        let badge = await post(Self.badge(for: notification, now: clock()), to: address, notification)
        if case .refused = badge { return .sent }
        return badge
    }

    private func post(_ notification: PushNotification) async -> PushOutcome {
        guard let body = Self.body(for: notification, setup, now: clock()) else {
            return .refused("the payload exceeds \(Self.payloadLimit) bytes")
        }
        return await post(body, to: address, notification)
    }

    private func post(_ body: [UInt8], to address: String, _ notification: PushNotification) async -> PushOutcome {
        await withToken(of: tokens) { token in
            // The push type 0 is a notification.
            let headers = ["authorization": "Bearer \(token)", "push-type": "0"]
            let response = try await transport.post(PushRequest(url: address, headers: headers, json: body))
            return answer(to: response, of: notification)
        }
    }

    /// The code in the body takes precedence over the HTTP status.
    private func answer(to response: PushResponse, of notification: PushNotification) -> PushAnswer {
        guard let answer = CodedResponse(response, code: "code", message: "msg") else {
            return PushAnswer(response, retrySeconds: retrySeconds, reason: nil)
        }
        switch answer.code {
        case "80000000": return .settled(.sent)
        case "80100000", "80300007": return .settled(outcome(of: answer, for: notification.device.token))
        case "80200001", "80200003", "80200005", "80300036": return .unauthorized(answer.code)
        case "80300029": return .settled(.later(after: response.retryAfter ?? PushRetryDelay.quota, answer.code))
        // The first code belongs to withdrawals.
        case "80000001", "81000001": return .settled(.later(after: response.retryAfter ?? retrySeconds, answer.code))
        default:
            let reason = notification.reason(answer.code, answer.message)
            return PushAnswer(response, retrySeconds: retrySeconds, reason: reason)
        }
    }

    /// Handles a response that refuses some or all tokens.
    ///
    /// Its description contains the reason for each token.
    private func outcome(of answer: CodedResponse, for token: String) -> PushOutcome {
        let reasons = answer.details?["illegalTokens"] as? [String: [String]]
        if let reason = reasons?.first(where: { $0.value.contains(token) })?.key {
            return Self.invalidTokenReasons.contains(reason) ? .gone(since: nil) : .refused("\(answer.code) \(reason)")
        }
        if answer.code == "80300007" { return .gone(since: nil) }
        return reasons == nil ? .refused(answer.code) : .sent
    }
}
