import Foundation
import JWTKit
import ScrollbackEngine
package import ScrollbackModel
import ScrollbackWire

/// Settings for accepting tokens that an external issuer signs, in addition to the server's own tokens.
package struct TokenTrust: Sendable {
    package var keys: KeyLocation
    /// The required value of the claim `iss`, or `nil` to accept any issuer.
    package var issuer: String?
    /// A value that the claim `aud` must contain.
    ///
    /// If `nil`, tokens that have an `aud` claim are rejected.
    package var audience: String?
    /// Whether an external token may contain the scope `admin`.
    package var mayGrantAdmin: Bool

    /// Creates settings.
    ///
    /// - Parameter keys: A path or a URL; see ``KeyLocation/init(_:)``.
    /// - Throws: `invalid-parameter` if the URL is not valid. Also if `issuer` is missing for the URL of a JWK Set, or
    ///   present for a discovery URL, which names the issuer.
    package init(
        keys: String, issuer: String? = nil, audience: String? = nil, mayGrantAdmin: Bool = false
    ) throws(ChatError) {
        self.keys = try KeyLocation(keys)
        self.issuer = issuer
        self.audience = audience
        self.mayGrantAdmin = mayGrantAdmin
        guard case .url(let url) = self.keys else { return }
        guard (url.issuer == nil) == (issuer != nil) else {
            throw .invalidParameter(
                "token-issuer",
                url.issuer == nil
                    ? "is required with the URL of a JWK Set, because several issuers can share a set"
                    : "must be left out, because the metadata at the URL in token-keys name the issuer")
        }
    }
}

/// The claims of a token that an external issuer signed (RFC 7519, RFC 9068).
struct ExternalClaims: JWTPayload {
    var sub: String?
    var iat: Double?
    var exp: Double?
    var nbf: Double?
    var iss: String?
    var aud: Audience?
    /// Scopes as an array, the format of this server's own tokens.
    var scopes: [String]?
    /// Scopes separated by spaces, the OAuth format (RFC 8693 section 4.2).
    ///
    /// May contain scopes of other services.
    var scope: String?

    /// The claim `aud`: one string or an array of strings.
    struct Audience: Codable, Sendable {
        var names: [String]

        init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            names = if let one = try? value.decode(String.self) { [one] } else { try value.decode([String].self) }
        }

        func encode(to encoder: any Encoder) throws {
            var value = encoder.singleValueContainer()
            try value.encode(names)
        }
    }

    /// Does nothing: JWTKit checks the signature, and `TokenTrust.verified` checks the claims.
    func verify(using algorithm: some JWTAlgorithm) throws {}
}

extension TokenTrust {
    /// The tolerated clock difference to the issuer, in seconds.
    private static let leeway: TimeInterval = 60

    /// Checks the claims of a token whose signature is valid.
    ///
    /// - Parameter allowsExpired: Whether to accept an expired token.
    /// - Throws: `invalid-token` with the name of the claim, or `token-expired`.
    func verified(_ claims: ExternalClaims, now: Date, allowsExpired: Bool) throws(ChatError) -> VerifiedToken {
        let now = now.timeIntervalSince1970
        guard let sub = claims.sub, let iat = claims.iat, let exp = claims.exp else {
            throw refusal("must have the claims sub, iat and exp")
        }
        if let issuer, claims.iss != issuer { throw refusal("is from another issuer, because iss must be \(issuer)") }
        let audiences = claims.aud?.names ?? []
        if let audience {
            guard audiences.contains(audience) else {
                throw refusal("is for another audience, because aud must contain \(audience)")
            }
        } else if claims.aud != nil {
            // A recipient that `aud` does not identify must reject the token (RFC 7519 section 4.1.3).
            throw refusal("has the claim aud, but the server's setting token-audience is not set")
        }
        // A token from the future would remain valid after a revocation.
        guard (0...now + Self.leeway).contains(iat) else {
            throw refusal("has an invalid iat, which must not be in the future")
        }
        guard claims.nbf ?? 0 <= now + Self.leeway else { throw refusal("is not valid yet, according to nbf") }
        guard exp > iat, exp - iat <= TokenService.maximumLifetime else {
            throw refusal(
                "must have an exp after iat, by at most \(Int(TokenService.maximumLifetime / 86_400)) days"
            )
        }
        guard allowsExpired || exp > now else {
            throw ChatError(.tokenExpired, "The token has expired. Get a new one.")
        }
        let user: UserID
        do {
            user = try UserID(sub, parameter: "sub")
        } catch {
            throw refusal("has an invalid subject: \(error.message)")
        }
        let scopes = try scopes(of: claims)
        return VerifiedToken(
            caller: Caller(user: user, isAdmin: scopes.contains(.admin), scopes: scopes),
            issuedAt: Date(timeIntervalSince1970: iat), expiresAt: Date(timeIntervalSince1970: exp))
    }

    /// Returns the scopes of the token, or all scopes of a user if the token does not list any.
    private func scopes(of claims: ExternalClaims) throws(ChatError) -> Scopes {
        let known = Scope.allCases.filter { $0 != .admin || mayGrantAdmin }
        do throws(ChatError) {
            switch (claims.scopes, claims.scope) {
            case (nil, nil): return .all
            case (let names?, nil): return try Scopes(names: names, known: known)
            case (nil, let text?):
                let names = text.split(separator: " ").map(String.init)
                let own = names.filter { name in known.contains { $0.rawValue == name } }
                return try Scopes(names: own, "scope", known: known)
            case (.some, .some): throw refusal("must have either scope or scopes, not both")
            }
        } catch {
            guard error.code == .invalidParameter else { throw error }
            throw refusal("has no valid scope: \(error.message)")
        }
    }

    private func refusal(_ reason: String) -> ChatError { ChatError(.invalidToken, "The token \(reason).") }
}
