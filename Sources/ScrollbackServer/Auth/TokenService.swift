package import Foundation
import JWTKit
package import ScrollbackEngine
package import ScrollbackModel
import Synchronization

/// Makes and checks tokens: JWT, HS256 (RFC 7519).
package final class TokenService: Sendable {
    private let directory: URL
    private let clock: @Sendable () -> Date
    private let state: Mutex<State>

    private struct State {
        var keys: SigningKeys
        var collection: JWTKeyCollection
        var modifiedAt: Date?
        /// What tokens say whose signatures were found right, as long as the keys are these.
        var known: [String: (claims: Claims, kid: String)] = [:]
    }

    /// How many tokens are known without looking at their signatures again.
    private static let mostKnown = 4096

    /// The longest a token may be valid, unless it is an administrator's.
    package static let maximumLifetime: TimeInterval = 366 * 86_400
    package static let standardLifetime: TimeInterval = 30 * 86_400

    package init(directory: URL, clock: @escaping @Sendable () -> Date = { Date() }) async throws {
        self.directory = directory
        self.clock = clock
        let keys = try SigningKeys.open(in: directory, now: clock())
        let collection = await Self.collection(of: keys)
        state = Mutex(State(keys: keys, collection: collection, modifiedAt: Self.modificationDate(of: directory)))
    }

    private static func modificationDate(of directory: URL) -> Date? {
        let path = directory.appending(path: "secrets.json").path
        return try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
    }

    private static func collection(of keys: SigningKeys) async -> JWTKeyCollection {
        let collection = JWTKeyCollection()
        for key in keys.keys {
            guard let secret = Data(base64Encoded: key.secret) else { continue }
            await collection.add(
                hmac: HMACKey(from: secret), digestAlgorithm: .sha256, kid: JWKIdentifier(string: key.kid))
        }
        return collection
    }

    /// Takes over secrets that another process rotated.
    package func reloadIfChanged() async throws {
        let modifiedAt = Self.modificationDate(of: directory)
        guard modifiedAt != state.withLock({ $0.modifiedAt }) else { return }
        let keys = try SigningKeys.open(in: directory)
        let collection = await Self.collection(of: keys)
        state.withLock { $0 = State(keys: keys, collection: collection, modifiedAt: modifiedAt) }
    }

    /// - Parameter lifetime: seconds; `nil` for a token that does not expire.
    package func token(for user: UserID, isAdmin: Bool, lifetime: TimeInterval?) async throws -> String {
        let now = clock()
        return try await sign(
            Claims(
                sub: user.text, scopes: isAdmin ? ["admin"] : nil, iat: now.timeIntervalSince1970,
                exp: lifetime.map { now.timeIntervalSince1970 + $0 }))
    }

    /// A token that is good for a link alone: it sees what who made it sees.
    func token(for link: MediaLink, by caller: Caller, expiresAt: Date) async throws -> String {
        try await sign(
            Claims(
                sub: caller.user.text, scopes: caller.isAdmin ? ["media", "admin"] : ["media"],
                iat: clock().timeIntervalSince1970, exp: expiresAt.timeIntervalSince1970, media: link.text))
    }

    private func sign(_ claims: Claims) async throws -> String {
        let (keys, collection) = state.withLock { ($0.keys, $0.collection) }
        guard let key = keys.keys.last(where: { $0.retiresAt == nil }) else {
            throw ChatError(.internalError, "secrets.json has no key to sign with")
        }
        return try await collection.sign(claims, kid: JWKIdentifier(string: key.kid))
    }

    /// Checks a token.
    ///
    /// - Parameter evenExpired: whether its time may be over; its key's may not.
    /// - Throws: `invalid-token` or `token-expired`.
    package func verify(_ token: String, evenExpired: Bool = false) async throws(ChatError) -> VerifiedToken {
        let claims = try await claims(of: token, evenExpired: evenExpired)
        // A link's token is for its file and for nothing else.
        guard claims.media == nil, claims.scopes?.contains("media") != true else {
            throw ChatError(.invalidToken, "the token is a link's, which is good for its file alone")
        }
        return try Self.verified(claims)
    }

    /// Checks a link's token.
    ///
    /// - Throws: `invalid-token` or `token-expired`.
    func verify(_ token: String, for link: MediaLink) async throws(ChatError) -> VerifiedToken {
        let claims = try await claims(of: token, evenExpired: false)
        guard claims.scopes?.contains("media") == true, claims.media == link.text else {
            throw ChatError(.invalidToken, "the link is not of this file: make one with POST /v1/media/{id}/link")
        }
        return try Self.verified(claims)
    }

    private static func verified(_ claims: Claims) throws(ChatError) -> VerifiedToken {
        VerifiedToken(
            caller: Caller(
                user: try UserID(claims.sub, parameter: "token"), isAdmin: claims.scopes?.contains("admin") ?? false),
            issuedAt: Date(timeIntervalSince1970: claims.iat),
            expiresAt: claims.exp.map { Date(timeIntervalSince1970: $0) })
    }

    /// What a token says that this server signed.
    private func claims(of token: String, evenExpired: Bool) async throws(ChatError) -> Claims {
        let now = clock()
        let (keys, known) = state.withLock { ($0.keys, $0.known[token]) }
        let (claims, kid) = if let known { known } else { try await signedClaims(of: token) }
        guard let key = keys.keys.first(where: { $0.kid == kid }), key.retiresAt.map({ now < $0 }) ?? true else {
            throw ChatError(.invalidToken, "the token's key is retired: ask for a new token")
        }
        if !evenExpired, let exp = claims.exp, exp <= now.timeIntervalSince1970 {
            throw ChatError(.tokenExpired, "the token expired: ask for a new one")
        }
        return claims
    }

    private func signedClaims(of token: String) async throws(ChatError) -> (claims: Claims, kid: String) {
        let collection = state.withLock { $0.collection }
        let claims: Claims
        do {
            claims = try await collection.verify(token, as: Claims.self)
        } catch {
            // What was wrong with it is nobody's business but the log's, and the token is not for the log either.
            throw ChatError(.invalidToken, "the token is not valid: ask for a new one")
        }
        guard let kid = Self.keyID(of: token) else {
            throw ChatError(.invalidToken, "the token names no key: ask for a new one")
        }
        state.withLock { state in
            // Keys that were read anew meanwhile may not have this one.
            guard state.collection === collection else { return }
            if state.known.count >= Self.mostKnown { state.known.removeAll(keepingCapacity: true) }
            state.known[token] = (claims, kid)
        }
        return (claims, kid)
    }

    private static func keyID(of token: String) -> String? {
        struct Header: Decodable { var kid: String? }
        guard let part = token.split(separator: ".").first, let data = Data(base64URL: String(part)) else { return nil }
        return try? JSONDecoder().decode(Header.self, from: data).kid
    }
}

package struct VerifiedToken: Sendable {
    package var caller: Caller
    package var issuedAt: Date
    package var expiresAt: Date?
}

/// What a token says.
///
/// Times are seconds since 1970, with fractions, so that a token made right after a revocation counts.
private struct Claims: JWTPayload {
    var sub: String
    var scopes: [String]?
    var iat: Double
    var exp: Double?
    /// What a link is of.
    var media: String?

    /// The signature is checked by the library; times are checked where the clock is.
    func verify(using algorithm: some JWTAlgorithm) throws {}
}

extension Data {
    init?(base64URL text: String) {
        var text = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        while text.utf8.count % 4 != 0 { text += "=" }
        self.init(base64Encoded: text)
    }
}
