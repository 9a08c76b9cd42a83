import Foundation
import JWTKit
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

/// Whose tokens are taken besides those that are made here.
package struct TokenTrust: Sendable {
    /// A file of public keys, PEM or a JWK Set, or a directory of them.
    package var keys: String
    /// What such a token must say in `iss`; anything, if nothing.
    package var issuer: String?
    /// What must be among those a token says in `aud`; without it a token may say none.
    package var audience: String?
    /// Whether such a token may have the scope admin.
    package var mayGrantAdmin: Bool

    package init(keys: String, issuer: String? = nil, audience: String? = nil, mayGrantAdmin: Bool = false) {
        self.keys = keys
        self.issuer = issuer
        self.audience = audience
        self.mayGrantAdmin = mayGrantAdmin
    }
}

/// What a token says that somebody else signed (RFC 7519, RFC 9068).
struct ForeignClaims: JWTPayload {
    var sub: String?
    var iat: Double?
    var exp: Double?
    var nbf: Double?
    var iss: String?
    var aud: Audience?
    /// As this server's own tokens have them.
    var scopes: [String]?
    /// As OAuth has them, with spaces between (RFC 8693 section 4.2): names of other services may be among them.
    var scope: String?

    /// One or several.
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

    /// The signature is checked by the library; all else where the clock and the settings are.
    func verify(using algorithm: some JWTAlgorithm) throws {}
}

extension TokenTrust {
    /// By how much the clock of who signs may be ahead.
    private static let leeway: TimeInterval = 60

    /// Whom a token lets in whose signature was found right.
    ///
    /// - Parameter evenExpired: whether its time may be over.
    /// - Throws: `invalid-token`, naming the claim; `token-expired`.
    func verified(_ claims: ForeignClaims, now: Date, evenExpired: Bool) throws(ChatError) -> VerifiedToken {
        let now = now.timeIntervalSince1970
        guard let sub = claims.sub, let iat = claims.iat, let exp = claims.exp else {
            throw refusal("must have sub, iat and exp")
        }
        if let issuer, claims.iss != issuer { throw refusal("is by another issuer: iss must be \(issuer)") }
        let audiences = claims.aud?.names ?? []
        if let audience {
            guard audiences.contains(audience) else { throw refusal("is for others: aud must have \(audience)") }
        } else if claims.aud != nil {
            // Whoever is not who it names must refuse it (RFC 7519 section 4.1.3).
            throw refusal("names an audience in aud, and this server has no name: set token-audience")
        }
        // One from the future would outlive a revocation.
        guard (0...now + Self.leeway).contains(iat) else { throw refusal("has an iat that is not now or before") }
        guard claims.nbf ?? 0 <= now + Self.leeway else { throw refusal("is not good yet: nbf is still to come") }
        guard exp > iat, exp - iat <= TokenService.maximumLifetime else {
            throw refusal("must end within \(Int(TokenService.maximumLifetime / 86_400)) days: exp less iat")
        }
        guard evenExpired || exp > now else { throw ChatError(.tokenExpired, "the token expired: ask for a new one") }
        let user: UserID
        do {
            user = try UserID(sub, parameter: "sub")
        } catch {
            throw refusal("names nobody: \(error.message)")
        }
        let scopes = try scopes(of: claims)
        return VerifiedToken(
            caller: Caller(user: user, isAdmin: scopes.contains(.admin), scopes: scopes),
            issuedAt: Date(timeIntervalSince1970: iat), expiresAt: Date(timeIntervalSince1970: exp))
    }

    /// All that its user may do, where it names none.
    private func scopes(of claims: ForeignClaims) throws(ChatError) -> Scopes {
        let known = Scope.allCases.filter { $0 != .admin || mayGrantAdmin }
        do throws(ChatError) {
            switch (claims.scopes, claims.scope) {
            case (nil, nil): return .all
            case (let names?, nil): return try Scopes(names: names, known: known)
            case (nil, let text?):
                let names = text.split(separator: " ").map(String.init)
                let own = names.filter { name in known.contains { $0.rawValue == name } }
                return try Scopes(names: own, "scope", known: known)
            case (.some, .some): throw refusal("has both scope and scopes: give one of them")
            }
        } catch {
            guard error.code == .invalidParameter else { throw error }
            throw refusal("is good for nothing here: \(error.message)")
        }
    }

    private func refusal(_ reason: String) -> ChatError { ChatError(.invalidToken, "the token \(reason)") }
}
