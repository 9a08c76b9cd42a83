import Foundation
import ScrollbackModel

/// The response of an OAuth 2.0 token endpoint.
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
        // Some services return a string.
        seconds =
            (try? container.decode(Double.self, forKey: .seconds))
            ?? (try? container.decode(String.self, forKey: .seconds)).flatMap { Double($0) }
    }

    /// How many seconds before its end a token is replaced.
    ///
    /// Google's own libraries use the same value.
    private static let margin: TimeInterval = 225
    /// The minimum time between two token requests in seconds, even if the service returns a shorter lifetime.
    private static let minimumLifetime: TimeInterval = 30
    /// The lifetime in seconds of a token whose response contains none.
    private static let defaultLifetime: TimeInterval = 3600

    /// Creates a cache that requests tokens with a form.
    ///
    /// - Parameters:
    ///   - address: The URL of the token endpoint.
    ///   - retrySeconds: The delay before a retry if the service does not specify one.
    ///   - transport: The transport for the requests.
    ///   - clock: Returns the current time.
    ///   - form: Creates the form fields of a token request at a time.
    static func tokens(
        at address: String, retrySeconds: Double, over transport: any PushTransport,
        clock: @escaping @Sendable () -> Date,
        form: @escaping @Sendable (_ now: Date) async throws -> [String: String]
    ) -> TokenCache {
        TokenCache(minimumAge: 60, clock: clock) {
            let now = clock()
            let response = try await transport.post(PushRequest(url: address, form: try await form(now)))
            guard response.status == 200,
                let grant = try? JSONDecoder().decode(AccessGrant.self, from: Data(response.body))
            else { throw TokenRequestError(response, retrySeconds: retrySeconds) }
            let lifetime = max(
                Self.minimumLifetime,
                (grant.seconds.flatMap { TimeInterval(requested: $0) } ?? Self.defaultLifetime) - Self.margin)
            return TokenCache.Token(text: grant.token, renewAt: now + lifetime)
        }
    }

    /// Creates a cache that requests tokens with an app's ID and secret (client credentials).
    static func tokens(
        id: String, secret: String, at address: String, retrySeconds: Double, over transport: any PushTransport,
        clock: @escaping @Sendable () -> Date
    ) -> TokenCache {
        tokens(at: address, retrySeconds: retrySeconds, over: transport, clock: clock) { _ in
            ["grant_type": "client_credentials", "client_id": id, "client_secret": secret]
        }
    }
}
