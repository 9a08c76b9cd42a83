import Foundation

/// An access token for an app's id and secret: OAuth 2.0, client credentials.
struct ClientGrant: Decodable {
    private var token: String
    private var seconds: Double?

    private enum CodingKeys: String, CodingKey {
        case token = "access_token"
        case seconds = "expires_in"
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        token = try container.decode(String.self, forKey: .token)
        // It may be a string.
        seconds =
            (try? container.decode(Double.self, forKey: .seconds))
            ?? (try? container.decode(String.self, forKey: .seconds)).flatMap { Double($0) }
    }

    /// How long before its end a token is shown no more.
    private static let margin: TimeInterval = 225
    /// However short a token's life is said to be, it is not asked for more often.
    private static let leastLife: TimeInterval = 30
    /// Of one that does not say how long it lives.
    private static let usualLife: TimeInterval = 3600

    /// The tokens of an app.
    ///
    /// - Parameters:
    ///   - id: the client's id.
    ///   - secret: the client's secret.
    ///   - address: where tokens are given out.
    static func tokens(
        id: String, secret: String, at address: String, retrySeconds: Double, over transport: any PushTransport,
        clock: @escaping @Sendable () -> Date
    ) -> TokenCache {
        TokenCache(leastAge: 60, clock: clock) {
            let now = clock()
            let form = ["grant_type": "client_credentials", "client_id": id, "client_secret": secret]
            let response = try await transport.post(PushRequest(url: address, form: form))
            guard response.status == 200,
                let grant = try? JSONDecoder().decode(ClientGrant.self, from: Data(response.body))
            else { throw NoToken(response, retrySeconds: retrySeconds) }
            let life = max(Self.leastLife, (grant.seconds ?? Self.usualLife) - Self.margin)
            return TokenCache.Token(text: grant.token, renewAt: now + life)
        }
    }
}
