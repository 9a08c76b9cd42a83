import Foundation
import JWTKit
import ScrollbackEngine
import ScrollbackModel

/// Firebase Cloud Messaging (HTTP v1 API).
package struct FCM: PushProvider {
    /// How Android devices display a push.
    package enum Mode: String, CaseIterable, Sendable {
        /// The system displays the notification.
        case notification
        /// The app displays the notification from the data.
        case data
    }

    private let transport: any PushTransport
    private let endpoint: String
    private let mode: Mode
    private let retrySeconds: Double
    private let tokens: TokenCache
    private let clock: @Sendable () -> Date

    /// The required members of a service account's key file.
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

    init(_ credentials: PushCredentials, over transport: any PushTransport, clock: @escaping @Sendable () -> Date)
        throws
    {
        self.transport = transport
        self.clock = clock
        let account: Account = try credentials.decoded(
            "serviceAccount",
            "must be the JSON object of a service account's key file with project_id, client_email, "
                + "private_key, private_key_id and token_uri")
        guard !account.projectID.isEmpty, !account.projectID.contains("/") else {
            throw credentials.invalid("serviceAccount", "must have a project_id")
        }
        guard let key = try? Insecure.RSA.PrivateKey(pem: account.key) else {
            throw credentials.invalid("serviceAccount", "must have a PEM RSA private key as its private_key")
        }
        let host = try credentials.endpoint(or: "https://fcm.googleapis.com")
        endpoint = "\(host)/v1/projects/\(account.projectID)/messages:send"
        mode = try credentials.choice("mode", or: .notification)
        retrySeconds = try credentials.seconds("retrySeconds", in: 0...86_400, or: 10)
        tokens = AccessGrant.tokens(
            at: account.tokenAddress, retrySeconds: retrySeconds, over: transport, clock: clock
        ) { now in
            let kid = JWKIdentifier(string: account.keyID)
            let issued = Int(now.timeIntervalSince1970)
            let claims = Claims(
                iss: account.email, scope: "https://www.googleapis.com/auth/firebase.messaging",
                aud: account.tokenAddress, iat: issued, exp: issued + 3600)
            let assertion = try await JWTKeyCollection().add(rsa: key, digestAlgorithm: .sha256, kid: kid)
                .sign(claims, kid: kid)
            return ["grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": assertion]
        }
    }

    func send(_ notification: PushNotification) async -> PushOutcome {
        guard let body = Self.body(for: notification, mode: mode, now: clock()) else {
            return .refused("the payload exceeds \(Self.payloadLimit) bytes")
        }
        return await withToken(of: tokens) { token in
            let headers = ["authorization": "Bearer \(token)", "content-type": "application/json"]
            return answer(to: try await transport.post(PushRequest(url: endpoint, headers: headers, body: body)))
        }
    }

    private func answer(to response: PushResponse) -> PushAnswer {
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
        if response.status == 200 { return .settled(.sent) }
        // A proxy may return a body in another format.
        let failure = try? JSONDecoder().decode(Failure.self, from: Data(response.body))
        let code =
            failure?.error.details?.lazy.compactMap(\.errorCode).first ?? failure?.error.status
            ?? "status \(response.status)"
        switch (response.status, code) {
        case (404, "UNREGISTERED"): return .settled(.gone(since: nil))
        case (403, "SENDER_ID_MISMATCH"): return .settled(.refused(code))
        // The operator must fix the permissions. A new token would not help.
        case (403, _): return .settled(.later(after: PushRetryDelay.credentialsRejected, code))
        default: return PushAnswer(response, retrySeconds: retrySeconds, reason: code)
        }
    }
}
