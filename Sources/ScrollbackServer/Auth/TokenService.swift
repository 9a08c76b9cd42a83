package import Foundation
import JWTKit
package import Logging
package import ScrollbackEngine
package import ScrollbackModel
package import ScrollbackWire
import Synchronization

/// Issues and verifies tokens in the JWT format (RFC 7519).
///
/// The server signs its own tokens with HS256. It also accepts tokens of external issuers whose public keys it knows.
package final class TokenService: Sendable {
    private let directory: URL
    private let clock: @Sendable () -> Date
    private let secrets: ServerSecrets
    private let trust: TokenTrust?
    private let issuerKeys: IssuerKeys?
    private let state = Mutex(State())

    private struct State {
        /// The claims of tokens with a valid signature, and the keys that verified them.
        var cachedTokens: [String: (token: SignedToken, keys: KeyVersions)] = [:]
        /// The ID of the secret that signed at the last check.
        var signer: String?
        /// The last logged error of each file, so that the server logs an error only once.
        var loggedErrors: [String: String] = [:]
    }

    /// A token whose signature was verified.
    private enum SignedToken {
        case own(Claims, kid: String)
        case external(ExternalClaims, kid: String?)
    }

    /// The versions of all keys, of which a change makes the cached tokens invalid.
    private struct KeyVersions: Equatable {
        var secrets: Int
        var issuerKeys: Int?
    }

    /// The maximum number of cached tokens.
    private static let maximumCachedTokens = 4096
    /// The signature algorithm of the server's own tokens.
    private static let ownAlgorithm = "HS256"

    /// The maximum lifetime of a token in seconds, except for the administrator token.
    package static let maximumLifetime: TimeInterval = 366 * 86_400
    package static let standardLifetime: TimeInterval = 30 * 86_400

    /// Creates a token service.
    ///
    /// - Parameters:
    ///   - directory: The data directory. If it has no `secrets.json`, the service creates the file.
    ///   - trust: Settings for external tokens, or `nil` to accept only the server's own tokens.
    ///   - download: Downloads the keys if `trust` has their URL. If the first download fails, the service refuses
    ///     external tokens until one succeeds.
    ///   - isShared: Whether other nodes use the same secrets. Then the service signs nothing before
    ///     ``useShared(_:readAt:)``.
    ///   - clock: Returns the current time.
    ///   - uptime: Returns the time of a monotonic clock.
    package init(
        directory: URL, trust: TokenTrust? = nil, download: KeyDownload = .overHTTP(), isShared: Bool = false,
        clock: @escaping @Sendable () -> Date = { Date() },
        uptime: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) async throws {
        self.directory = directory
        self.clock = clock
        self.trust = trust
        secrets = try await ServerSecrets(in: directory, isShared: isShared, clock: clock, uptime: uptime)
        if let trust {
            issuerKeys = try await IssuerKeys(trust, download: download, clock: clock)
        } else {
            issuerKeys = nil
        }
    }

    // MARK: Keys

    /// The numbers of downloads of an issuer's keys since the start.
    var fetchCounts: (successes: Int, failures: Int) { issuerKeys?.fetchCounts ?? (0, 0) }

    private var keyVersions: KeyVersions {
        KeyVersions(secrets: secrets.version, issuerKeys: issuerKeys?.version)
    }

    /// Reloads `secrets.json` and the external keys if they changed, and logs the external keys and a new secret.
    ///
    /// If a file can't be loaded, the service logs the error once and keeps using the previous keys. Keys at a URL are
    /// downloaded in the background.
    package func reloadIfChanged(logger: Logger) async {
        await logFailure(of: "secrets.json", logger) { try await secrets.reload() }
        if let issuerKeys {
            await logFailure(of: "the token keys", logger) { try await issuerKeys.reload() }
            issuerKeys.takeUnloggedKeys()?.log(logger)
        }
        await noteSigner(logger)
    }

    private func logFailure(of what: String, _ logger: Logger, _ reload: () async throws -> Void) async {
        var fault: String?
        do {
            try await reload()
        } catch {
            fault = ChatError(wrapping: error).message
        }
        let last = state.withLock { [fault] state in
            defer { state.loggedErrors[what] = fault }
            return state.loggedErrors[what]
        }
        guard last != fault else { return }
        guard let fault else { return logger.notice("The server can load \(what) again.") }
        logger.error(
            "Can't load \(what). The server keeps using the previous version, if there is one.",
            metadata: ["reason": "\(fault)"])
    }

    /// Uses the secrets that all nodes share, and writes them to `secrets.json`.
    ///
    /// - Parameters:
    ///   - bytes: The secrets, as ``SecretsStore`` returned them.
    ///   - start: When their reading began.
    /// - Returns: Whether it undid a change of the file that did not come from the other nodes.
    /// - Throws: An error if the secrets can't be decoded, or the file can't be written. In the second case, they are
    ///   in use.
    @discardableResult
    package func useShared(_ bytes: [UInt8], readAt start: ContinuousClock.Instant) async throws -> Bool {
        try await secrets.useShared(bytes, readAt: start)
    }

    /// The contents of `secrets.json` with the secrets in use.
    package func encodedSecrets() throws -> [UInt8] { try secrets.encoded() }

    /// Returns the IDs of the secrets that have retired within the last minute; call this every few seconds.
    func retiredKeys() -> Set<String> { secrets.retiredKeys() }

    /// Logs when another secret signs than at the last check.
    ///
    /// If ``SecretRotator`` made it, the administrator token of the data directory is replaced.
    private func noteSigner(_ logger: Logger) async {
        guard let key = try? secrets.signer().key else { return }
        let last = state.withLock { state in
            defer { state.signer = key.kid }
            return state.signer
        }
        guard last != key.kid else { return }
        if last != nil { logger.notice("A new secret signs tokens.", metadata: ["key": "\(key.kid)"]) }
        guard key.signsAt != nil, let old = AdminKey.key(in: directory), old != key.kid else { return }
        do {
            try await AdminKey.write(in: directory, self)
            logger.notice("Replaced the administrator token in admin.key, which the earlier secret signed.")
        } catch {
            logger.error(
                "Can't replace the administrator token in admin.key. Make one with `scrollback token admin --admin`.",
                metadata: ["reason": "\(ChatError(wrapping: error).message)"])
        }
    }

    // MARK: Issuing

    /// Issues a token with the scope `admin` or with all scopes of a user.
    ///
    /// - Parameter lifetime: The lifetime in seconds, or `nil` for a token that does not expire.
    package func token(for user: UserID, isAdmin: Bool, lifetime: TimeInterval?) async throws -> String {
        try await token(for: user, scopes: isAdmin ? Scopes([.admin]) : .all, lifetime: lifetime)
    }

    /// Issues a token.
    ///
    /// - Parameters:
    ///   - scopes: The scopes of the token.
    ///   - lifetime: The lifetime in seconds, or `nil` for a token that does not expire.
    package func token(for user: UserID, scopes: Scopes, lifetime: TimeInterval?) async throws -> String {
        let now = clock()
        return try await sign(
            Claims(
                sub: user.text, scopes: scopes.names, iat: now.timeIntervalSince1970,
                exp: lifetime.map { now.timeIntervalSince1970 + $0 }))
    }

    /// Issues a token that is valid only for one download link and has the visibility of `caller`.
    func token(for link: MediaLink, by caller: Caller, expiresAt: Date) async throws -> String {
        try await sign(
            Claims(
                sub: caller.user.text, scopes: caller.isAdmin ? ["media", "admin"] : ["media"],
                iat: clock().timeIntervalSince1970, exp: expiresAt.timeIntervalSince1970, media: link.text))
    }

    private func sign(_ claims: Claims) async throws -> String {
        let (key, collection) = try secrets.signer()
        return try await collection.sign(claims, kid: JWKIdentifier(string: key.kid))
    }

    // MARK: Verifying

    /// Verifies a token.
    ///
    /// - Parameter allowsExpired: Whether to accept an expired token. A token of a retired key is always rejected.
    /// - Throws: `invalid-token` or `token-expired`.
    package func verify(_ token: String, allowsExpired: Bool = false) async throws(ChatError) -> VerifiedToken {
        switch try await signedToken(token) {
        case .own(let claims, let kid):
            try check(claims, kid, allowsExpired: allowsExpired)
            // The token of a download link is valid only for that link.
            guard claims.media == nil, claims.scopes?.contains("media") != true else {
                throw ChatError(.invalidToken, "The token belongs to a download link and is valid only for its file.")
            }
            // Ignore scopes of newer server versions. Unknown scopes must not turn into `.all`.
            let scopes = claims.scopes.map { Scopes(Set($0.compactMap { Scope(rawValue: $0) })) } ?? .all
            return try Self.verified(claims, kid, scopes)
        case .external(let claims, let kid):
            guard var trust else { throw .unspecificInvalidToken }
            trust.issuer = issuerKeys?.issuer
            var verified = try trust.verified(claims, now: clock(), allowsExpired: allowsExpired)
            verified.caller.token = TokenSource(key: kid, issuedAt: verified.issuedAt)
            return verified
        }
    }

    /// Verifies the token of a download link.
    ///
    /// - Throws: `invalid-token` or `token-expired`.
    func verify(_ token: String, for link: MediaLink) async throws(ChatError) -> VerifiedToken {
        guard case .own(let claims, let kid) = try await signedToken(token) else {
            throw ChatError(
                .invalidToken, "The link is from another server. Create a link with POST /v1/media/{id}/link.")
        }
        try check(claims, kid, allowsExpired: false)
        guard claims.scopes?.contains("media") == true, claims.media == link.text else {
            throw ChatError(
                .invalidToken, "The link is for another file. Create a link with POST /v1/media/{id}/link.")
        }
        return try Self.verified(claims, kid, Scopes(claims.scopes?.contains("admin") == true ? [.admin] : [.read]))
    }

    private static func verified(
        _ claims: Claims, _ kid: String, _ scopes: Scopes
    ) throws(ChatError) -> VerifiedToken {
        let issuedAt = Date(timeIntervalSince1970: claims.iat)
        return VerifiedToken(
            caller: Caller(
                user: try UserID(claims.sub, parameter: "token"), isAdmin: scopes.contains(.admin), scopes: scopes,
                token: TokenSource(key: kid, issuedAt: issuedAt)),
            issuedAt: issuedAt,
            expiresAt: claims.exp.map { Date(timeIntervalSince1970: $0) })
    }

    private func check(_ claims: Claims, _ kid: String, allowsExpired: Bool) throws(ChatError) {
        guard secrets.accepts(kid) else {
            throw ChatError(.invalidToken, "The token's key is retired. Get a new token.")
        }
        if !allowsExpired, let exp = claims.exp, exp <= clock().timeIntervalSince1970 {
            throw ChatError(.tokenExpired, "The token has expired. Get a new one.")
        }
    }

    /// Returns the claims of a token after verifying its signature, from the cache if possible.
    private func signedToken(_ token: String) async throws(ChatError) -> SignedToken {
        // If the keys change during the verification, the new keys may not include this one.
        let keys = keyVersions
        if let known = state.withLock({ $0.cachedTokens[token] }), known.keys == keys { return known.token }
        let new = try await verifySignature(token)
        state.withLock { state in
            if state.cachedTokens.count >= Self.maximumCachedTokens {
                state.cachedTokens.removeAll(keepingCapacity: true)
            }
            state.cachedTokens[token] = (new, keys)
        }
        return new
    }

    private func verifySignature(_ token: String) async throws(ChatError) -> SignedToken {
        let header = try TokenHeader(of: token)
        guard header.algorithm == Self.ownAlgorithm else {
            guard let issuerKeys else { throw .unspecificInvalidToken }
            return .external(try await issuerKeys.claims(of: token, header), kid: header.kid)
        }
        guard let kid = header.kid else {
            throw ChatError(.invalidToken, "The token has no kid. Get a new one.")
        }
        // For an unknown `kid`, JWTKit would try its first key.
        guard let collection = try secrets.collection(with: kid) else { throw .unspecificInvalidToken }
        return .own(try await collection.claims(of: token), kid: kid)
    }
}

extension ChatError {
    /// A deliberately unspecific error: details could help an attacker, and tokens must not appear in logs.
    static var unspecificInvalidToken: ChatError {
        ChatError(.invalidToken, "The token is not valid. Get a new one.")
    }
}

extension JWTKeyCollection {
    /// Returns the claims of a token after verifying its signature.
    ///
    /// - Throws: `invalid-token`.
    func claims<Payload: JWTPayload>(of token: String) async throws(ChatError) -> Payload {
        do {
            return try await verify(token, as: Payload.self)
        } catch {
            throw .unspecificInvalidToken
        }
    }
}

/// A token with a valid signature and valid claims.
package struct VerifiedToken: Sendable {
    package var caller: Caller
    package var issuedAt: Date
    package var expiresAt: Date?
}

/// The claims of the server's own tokens.
///
/// Times are seconds since 1970 with fractions, so that a token issued right after a revocation is valid.
private struct Claims: JWTPayload {
    var sub: String
    var scopes: [String]?
    var iat: Double
    var exp: Double?
    /// The download link for which the token is valid.
    var media: String?

    /// Does nothing: JWTKit checks the signature, and `TokenService.check` checks the times.
    func verify(using algorithm: some JWTAlgorithm) throws {}
}
