import Foundation
import JWTKit
import ScrollbackEngine
import ScrollbackModel

/// Push Kit of HarmonyOS 5 and later.
package struct Harmony: PushProvider {
    private let transport: any PushTransport
    private let address: String
    /// Where what is shown is taken back, if the operator set what it takes.
    private let revocationAddress: String?
    private let setup: Setup
    private let retrySeconds: Double
    private let tokens: TokenCache
    private let clock: @Sendable () -> Date

    /// For whom a token is, in the service's own words.
    private static let audience = "https://oauth-login.cloud.huawei.com/oauth2/v3/token"
    private static let tokenLifetime = 3600
    /// Of the answer to a push whose picture was not looked at by the service.
    private static let pictureRefused = "80100022"
    /// Why a token is one that reaches nothing.
    ///
    /// The last says that its app is of another project; where a request has a single token, it is rather one from
    /// before the phone had this system.
    private static let deadTokens = ["tokenFormatError", "tokenPlatformNotSupport", "noRight"]

    /// The members of a service account's key file that matter.
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
            "must be the JSON of a service account's key file, with project_id, key_id, private_key and sub_account")
        guard !account.projectID.isEmpty else { throw credentials.wrong("serviceAccount", "must have a project_id") }
        guard let key = try? Insecure.RSA.PrivateKey(pem: account.key) else {
            throw credentials.wrong("serviceAccount", "must have a PEM private key for RSA as its private_key")
        }
        let host = try credentials.endpoint(or: "https://push-api.cloud.huawei.com")
        address = "\(host)/v3/\(account.projectID.percentEncoded)/messages:send"
        // By the app, not by its project.
        revocationAddress = try credentials.optionalText("clientID").map {
            "\(host)/v1/\($0.percentEncoded)/messages:revoke"
        }
        var setup = Setup()
        if let category = try credentials.optionalText("category") { setup.category = category }
        setup.title = try credentials.optionalText("title")
        self.setup = setup
        retrySeconds = try credentials.seconds("retrySeconds", in: 0...86_400, or: 10)
        tokens = TokenCache(leastAge: 60, clock: clock) {
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
        guard case .refused(let reason) = outcome, reason.hasPrefix(Self.pictureRefused),
            notification.options.harmony?.imageURL != nil
        else { return outcome }
        // It is better shown without its picture than not at all.
        var plain = notification
        plain.options.harmony?.imageURL = nil
        return await post(plain)
    }

    /// Takes back what is shown of a message that was recalled.
    ///
    /// - Returns: nil where it is to be replaced.
    private func withdraw(_ notification: PushNotification) async -> PushOutcome? {
        guard notification.canBeWithdrawn, let revocationAddress else { return nil }
        let outcome = await post(Self.revocation(of: notification), to: revocationAddress, notification)
        switch outcome {
        case .sent: break
        case .gone, .later: return outcome
        case .refused: return nil
        }
        // That left the badge as it was. Who is refused one has to wait for the next push.
        let badge = await post(Self.badge(for: notification, now: clock()), to: address, notification)
        if case .refused = badge { return .sent }
        return badge
    }

    private func post(_ notification: PushNotification) async -> PushOutcome {
        guard let body = Self.body(for: notification, setup, now: clock()) else {
            return .refused("the payload is larger than \(Self.payloadLimit) bytes")
        }
        return await post(body, to: address, notification)
    }

    private func post(_ body: [UInt8], to address: String, _ notification: PushNotification) async -> PushOutcome {
        await withToken(of: tokens) { token in
            // 0 is a notification.
            let headers = ["authorization": "Bearer \(token)", "push-type": "0"]
            let response = try await transport.post(PushRequest(url: address, headers: headers, json: body))
            return answer(to: response, of: notification)
        }
    }

    /// Its code goes before the status.
    private func answer(to response: PushResponse, of notification: PushNotification) -> PushAnswer {
        guard let answer = CodedAnswer(response, code: "code", words: "msg") else {
            return PushAnswer(response, retrySeconds: retrySeconds, reason: nil)
        }
        switch answer.code {
        case "80000000": return .settled(.sent)
        case "80100000", "80300007": return .settled(outcome(of: answer, for: notification.device.token))
        case "80200001", "80200003", "80200005", "80300036": return .denied(answer.code)
        case "80300029": return .settled(.later(after: response.retryAfter ?? PushWait.quota, answer.code))
        // The first is a revocation's.
        case "80000001", "81000001": return .settled(.later(after: response.retryAfter ?? retrySeconds, answer.code))
        default:
            let reason = notification.reason(answer.code, answer.words)
            return PushAnswer(response, retrySeconds: retrySeconds, reason: reason)
        }
    }

    /// Some tokens are refused, or all, of the one there is; the words say each one's reason.
    private func outcome(of answer: CodedAnswer, for token: String) -> PushOutcome {
        let reasons = answer.details?["illegalTokens"] as? [String: [String]]
        if let reason = reasons?.first(where: { $0.value.contains(token) })?.key {
            return Self.deadTokens.contains(reason) ? .gone(since: nil) : .refused("\(answer.code) \(reason)")
        }
        if answer.code == "80300007" { return .gone(since: nil) }
        return reasons == nil ? .refused(answer.code) : .sent
    }
}
