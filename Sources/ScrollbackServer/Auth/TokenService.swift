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
    }

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
        let (keys, collection) = state.withLock { ($0.keys, $0.collection) }
        guard let key = keys.keys.last(where: { $0.retiresAt == nil }) else {
            throw ChatError(.internalError, "secrets.json has no key to sign with")
        }
        let claims = Claims(
            sub: user.text, scopes: isAdmin ? ["admin"] : nil, iat: now.timeIntervalSince1970,
            exp: lifetime.map { now.timeIntervalSince1970 + $0 })
        return try await collection.sign(claims, kid: JWKIdentifier(string: key.kid))
    }

    /// Checks a token.
    ///
    /// - Throws: `invalid-token` or `token-expired`.
    package func verify(_ token: String) async throws(ChatError) -> VerifiedToken {
        let (keys, collection) = state.withLock { ($0.keys, $0.collection) }
        let now = clock()
        let claims: Claims
        do {
            claims = try await collection.verify(token, as: Claims.self)
        } catch {
            // What was wrong with it is nobody's business but the log's, and the token is not for the log either.
            throw ChatError(.invalidToken, "the token is not valid: ask for a new one")
        }
        guard let kid = Self.keyID(of: token), let key = keys.keys.first(where: { $0.kid == kid }),
            key.retiresAt.map({ now < $0 }) ?? true
        else { throw ChatError(.invalidToken, "the token's key is retired: ask for a new token") }
        if let exp = claims.exp, exp <= now.timeIntervalSince1970 {
            throw ChatError(.tokenExpired, "the token expired: ask for a new one")
        }
        let user = try UserID(claims.sub, parameter: "token")
        return VerifiedToken(
            caller: Caller(user: user, isAdmin: claims.scopes?.contains("admin") ?? false),
            issuedAt: Date(timeIntervalSince1970: claims.iat),
            expiresAt: claims.exp.map { Date(timeIntervalSince1970: $0) })
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
