import Foundation
import JWTKit
import ScrollbackEngine
import ScrollbackModel

/// Firebase Cloud Messaging, HTTP v1.
package struct FCM: PushProvider {
    /// How a push is shown on Android.
    package enum Mode: String, CaseIterable, Sendable {
        /// By the system: it is shown whether or not the app runs, in its order and with its limits.
        case notification
        /// By the app, which gets all of it as data.
        case data
    }

    private let transport: any PushTransport
    private let endpoint: String
    private let mode: Mode
    private let retrySeconds: Double
    private let tokens: TokenCache
    private let clock: @Sendable () -> Date

    /// The members of a service account's key file that matter.
    private struct Account: Decodable {
        var projectID: String
        var email: String
        var key: String
        var keyID: String
        var tokenAddress: String

        enum CodingKeys: String, CodingKey {
            case projectID = "project_id"
            case email = "client_email"
            case key = "private_key"
            case keyID = "private_key_id"
            case tokenAddress = "token_uri"
        }
    }

    private struct Claims: JWTPayload {
        var iss: String
        var scope: String
        var aud: String
        var iat: Int
        var exp: Int
        func verify(using algorithm: some JWTAlgorithm) {}
    }

    private struct Grant: Decodable {
        var token: String
        var seconds: Double

        enum CodingKeys: String, CodingKey {
            case token = "access_token"
            case seconds = "expires_in"
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            token = try container.decode(String.self, forKey: .token)
            // It may be a string.
            seconds =
                try (try? container.decode(Double.self, forKey: .seconds))
                ?? Double(container.decode(String.self, forKey: .seconds)) ?? 0
        }
    }

    private struct NoGrant: Error {
        var status: Int
    }

    init(_ credentials: PushCredentials, over transport: any PushTransport, clock: @escaping @Sendable () -> Date)
        throws
    {
        self.transport = transport
        self.clock = clock
        let account: Account = try credentials.decoded(
            "serviceAccount",
            "must be the JSON of a service account's key file, with project_id, client_email, "
                + "private_key, private_key_id and token_uri")
        guard !account.projectID.isEmpty, !account.projectID.contains("/") else {
            throw credentials.wrong("serviceAccount", "must have a project_id")
        }
        guard let key = try? Insecure.RSA.PrivateKey(pem: account.key) else {
            throw credentials.wrong("serviceAccount", "must have a PEM private key for RSA as its private_key")
        }
        let host = try credentials.endpoint(or: "https://fcm.googleapis.com")
        endpoint = "\(host)/v1/projects/\(account.projectID)/messages:send"
        mode = try credentials.choice("mode", or: .notification)
        retrySeconds = try credentials.seconds("retrySeconds", in: 0...86_400, or: 10)
        tokens = TokenCache(leastAge: 60, clock: clock) {
            let now = clock()
            let kid = JWKIdentifier(string: account.keyID)
            let claims = Claims(
                iss: account.email, scope: "https://www.googleapis.com/auth/firebase.messaging",
                aud: account.tokenAddress, iat: Int(now.timeIntervalSince1970),
                exp: Int(now.timeIntervalSince1970) + 3600)
            let assertion = try await JWTKeyCollection().add(rsa: key, digestAlgorithm: .sha256, kid: kid)
                .sign(claims, kid: kid)
            let form = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(assertion)"
            let response = try await transport.post(
                PushRequest(
                    url: account.tokenAddress, headers: ["content-type": "application/x-www-form-urlencoded"],
                    body: Array(form.utf8)))
            guard response.status == 200,
                let grant = try? JSONDecoder().decode(Grant.self, from: Data(response.body))
            else { throw NoGrant(status: response.status) }
            // Some minutes before it is over, as Google's own libraries do.
            return TokenCache.Token(text: grant.token, renewAt: now + max(0, grant.seconds - 225))
        }
    }

    func send(_ notification: PushNotification) async -> PushOutcome {
        guard let body = Self.body(for: notification, mode: mode, now: clock()) else {
            return .refused("the payload is larger than \(Self.payloadLimit) bytes")
        }
        do {
            let token = try await tokens.token()
            let response = try await post(body, token)
            guard response.status == 401 else { return outcome(of: response) }
            return outcome(of: try await post(body, try await tokens.token(after: token)))
        } catch let error as NoGrant {
            return .later(after: retrySeconds, "no access token: status \(error.status)")
        } catch {
            return .later(after: nil, "no answer: \(error)")
        }
    }

    private func post(_ body: [UInt8], _ token: String) async throws -> PushResponse {
        try await transport.post(
            PushRequest(
                url: endpoint, headers: ["authorization": "Bearer \(token)", "content-type": "application/json"],
                body: body))
    }

    private func outcome(of response: PushResponse) -> PushOutcome {
        struct Failure: Decodable {
            struct Detail: Decodable {
                var errorCode: String?
            }
            struct Error: Decodable {
                var status: String?
                var details: [Detail]?
            }
            var error: Error
        }
        if response.status == 200 { return .sent }
        // A gateway may answer with something else.
        let failure = try? JSONDecoder().decode(Failure.self, from: Data(response.body))
        let code =
            failure?.error.details?.lazy.compactMap(\.errorCode).first ?? failure?.error.status
            ?? "status \(response.status)"
        switch (response.status, code) {
        case (404, "UNREGISTERED"): return .gone(since: nil)
        case (403, "SENDER_ID_MISMATCH"): return .refused(code)
        // The operator's to mend: it is tried until they have, or it is too late.
        case (401, _), (403, _): return .later(after: max(300, retrySeconds), code)
        case (429, _): return .later(after: response.retryAfter ?? 60, code)
        case (408, _), (500..., _): return .later(after: response.retryAfter ?? retrySeconds, code)
        default: return .refused(code)
        }
    }
}
