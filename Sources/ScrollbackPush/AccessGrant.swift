import Foundation

/// An access token as OAuth 2.0 gives it out.
struct AccessGrant: Decodable {
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

    /// How long before its end a token is shown no more: as long as in Google's own libraries.
    private static let margin: TimeInterval = 225
    /// However short a token's life is said to be, it is not asked for more often.
    private static let leastLife: TimeInterval = 30
    /// Of one that does not say how long it lives.
    private static let usualLife: TimeInterval = 3600

    /// The tokens that are given out for a form.
    ///
    /// - Parameters:
    ///   - address: where they are given out.
    ///   - form: what is asked with, at a time.
    static func tokens(
        at address: String, retrySeconds: Double, over transport: any PushTransport,
        clock: @escaping @Sendable () -> Date,
        form: @escaping @Sendable (_ now: Date) async throws -> [String: String]
    ) -> TokenCache {
        TokenCache(leastAge: 60, clock: clock) {
            let now = clock()
            let response = try await transport.post(PushRequest(url: address, form: try await form(now)))
            guard response.status == 200,
                let grant = try? JSONDecoder().decode(AccessGrant.self, from: Data(response.body))
            else { throw NoToken(response, retrySeconds: retrySeconds) }
            let life = max(Self.leastLife, (grant.seconds ?? Self.usualLife) - Self.margin)
            return TokenCache.Token(text: grant.token, renewAt: now + life)
        }
    }

    /// The tokens of an app by its id and secret: client credentials.
    static func tokens(
        id: String, secret: String, at address: String, retrySeconds: Double, over transport: any PushTransport,
        clock: @escaping @Sendable () -> Date
    ) -> TokenCache {
        tokens(at: address, retrySeconds: retrySeconds, over: transport, clock: clock) { _ in
            ["grant_type": "client_credentials", "client_id": id, "client_secret": secret]
        }
    }
}
