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
    private let trust: TokenTrust?
    private let download: KeyDownload
    private let clock: @Sendable () -> Date
    /// Whether other nodes use the same secrets, which ``useShared(_:readAt:)`` passes.
    private let isShared: Bool
    private let uptime: @Sendable () -> ContinuousClock.Instant
    private let fetcher: KeyFetcher
    private let state: Mutex<State>

    private struct State {
        var secrets: TokenSecrets
        var collection: JWTKeyCollection
        /// The content of `secrets.json` at the last check.
        ///
        /// Modification times do not suffice: two changes within a few milliseconds can have the same time.
        var file: Data?
        /// The secrets that all nodes use, as `secrets.json` has them.
        var shared: [UInt8]?
        /// The ID of the secret that signed at the last check of the administrator token.
        var keyOfAdmin: String?
        /// The external keys, and the content of the files at the last check.
        ///
        /// If new files are invalid, the previous keys remain.
        var externalKeys: TokenKeys?
        var files: [KeyFile] = []
        /// The required value of the claim `iss`, or `nil` to accept any issuer.
        var issuer: String?
        /// Keys that are in use, and that the log does not contain yet.
        var unloggedKeys: TokenKeys?
        /// The last logged error of each file, so that the server logs an error only once.
        var loggedErrors: [String: String] = [:]
        /// A counter that increases with each change of keys.
        var generation = 0
        /// The claims of tokens with a valid signature, cached until the keys change.
        var cachedTokens: [String: SignedToken] = [:]

        mutating func keysChanged() {
            generation += 1
            cachedTokens.removeAll()
        }

        mutating func use(_ keys: TokenKeys, of files: [KeyFile]) {
            (externalKeys, unloggedKeys, self.files) = (keys, keys, files)
            keysChanged()
        }
    }

    /// A token whose signature was verified.
    private enum SignedToken {
        case own(Claims, kid: String)
        case external(ExternalClaims, kid: String?)
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
        self.isShared = isShared
        self.uptime = uptime
        self.directory = directory
        self.trust = trust
        self.download = download
        self.clock = clock
        fetcher = KeyFetcher(clock: clock)
        let file = Self.secretsFile(in: directory)
        let keys = try SigningKeys.open(in: directory, now: clock())
        let collection = await Self.collection(of: keys)
        var state = State(
            secrets: TokenSecrets(keys, isShared: isShared), collection: collection, file: file)
        state.issuer = trust?.issuer
        if case .files(let path)? = trust?.keys {
            let files = try KeyFile.all(at: path)
            state.use(try await TokenKeys(files), of: files)
        }
        self.state = Mutex(state)
        await startFetchIfDue()?.value
    }

    private static func secretsFile(in directory: URL) -> Data? {
        try? Data(contentsOf: directory.appending(path: "secrets.json"))
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

    // MARK: Reloading keys

    /// The numbers of downloads of an issuer's keys since the start.
    var fetchCounts: (successes: Int, failures: Int) { fetcher.counts }

    /// Reloads `secrets.json` and the external keys if they changed, and logs the external keys.
    ///
    /// If a file can't be loaded, the service logs the error once and keeps using the previous keys. Keys at a URL are
    /// downloaded in the background.
    package func reloadIfChanged(logger: Logger) async {
        do {
            try await reloadSecrets()
            logFailure(nil, of: "secrets.json", logger)
        } catch {
            logFailure(ChatError(wrapping: error).message, of: "secrets.json", logger)
        }
        switch trust?.keys {
        case nil: break
        case .files(let path)?:
            do {
                try await reloadKeys(at: path)
            } catch {
                logFailure(ChatError(wrapping: error).message, of: "the token keys", logger)
            }
        case .url?:
            logFailure(fetcher.fault?.message, of: "the token keys", logger)
            startFetchIfDue()
        }
        let keys = state.withLock { state in
            defer { state.unloggedKeys = nil }
            return state.unloggedKeys
        }
        keys?.log(logger)
        await renewAdminKey(logger)
    }

    private func logFailure(_ fault: String?, of what: String, _ logger: Logger) {
        let last = state.withLock { state in
            defer { state.loggedErrors[what] = fault }
            return state.loggedErrors[what]
        }
        guard last != fault else { return }
        guard let fault else { return logger.notice("The server can load \(what) again.") }
        logger.error(
            "Can't load \(what). The server keeps using the previous version, if there is one.",
            metadata: ["reason": "\(fault)"])
    }

    private func reloadSecrets() async throws {
        guard !isShared else { return }
        let file = Self.secretsFile(in: directory)
        guard file == nil || file != state.withLock({ $0.file }) else { return }
        let keys = try SigningKeys.open(in: directory)
        let collection = await Self.collection(of: keys)
        state.withLock { state in
            state.secrets.replace(by: keys)
            (state.collection, state.file) = (collection, file)
            state.keysChanged()
        }
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
        let keys = try SigningKeys(decoding: bytes)
        let file = Self.secretsFile(in: directory)
        let isSame = state.withLock { state in
            guard state.shared == bytes, state.file == file else { return false }
            state.secrets.read(keys, at: start)
            return true
        }
        if isSame { return false }
        let isOnlyFile = state.withLock { $0.shared == bytes }
        let collection = await Self.collection(of: keys)
        state.withLock { state in
            state.secrets.read(keys, at: start)
            (state.collection, state.shared) = (collection, nil)
            state.keysChanged()
        }
        let written = Data(try keys.encoded())
        try keys.save(in: directory)
        state.withLock { state in
            (state.shared, state.file) = (bytes, written)
        }
        return isOnlyFile
    }

    /// The contents of `secrets.json` with the secrets in use.
    package func encodedSecrets() throws -> [UInt8] { try state.withLock { $0.secrets.keys }.encoded() }

    /// Returns the IDs of the secrets that have retired within the last minute; call this every few seconds.
    func retiredKeys() -> Set<String> {
        let now = clock()
        return state.withLock { $0.secrets.retiredKeys(at: now) }
    }

    /// Replaces the administrator token of the data directory when a secret signs that ``SecretRotator`` made.
    private func renewAdminKey(_ logger: Logger) async {
        guard let key = try? signer().key, key.signsAt != nil else { return }
        let isNew = state.withLock { state in
            defer { state.keyOfAdmin = key.kid }
            return state.keyOfAdmin != key.kid
        }
        guard isNew, let old = AdminKey.key(in: directory), old != key.kid else { return }
        do {
            try await AdminKey.write(in: directory, self)
            logger.notice("A new secret signs tokens. The administrator token in admin.key is replaced.")
        } catch {
            logger.error(
                "Can't replace the administrator token in admin.key. Make one with `scrollback token admin --admin`.",
                metadata: ["reason": "\(ChatError(wrapping: error).message)"])
        }
    }

    /// Reloads the external keys if the files changed.
    ///
    /// Compares the files' content, not their modification times. Orchestrators mount files behind symbolic links, and
    /// two changes within one second can have the same time.
    ///
    /// - Throws: The reason why the files are invalid, once for the same content.
    private func reloadKeys(at path: String) async throws(ChatError) {
        let files: [KeyFile]
        do {
            files = try KeyFile.all(at: path)
        } catch {
            // Once the files are readable again, load them even if their content did not change.
            state.withLock { $0.files = [] }
            throw error
        }
        let isNew = state.withLock { state in
            defer { state.files = files }
            return state.files != files
        }
        guard isNew else { return }
        let keys = try await TokenKeys(files)
        state.withLock { state in
            state.use(keys, of: files)
            state.loggedErrors["the token keys"] = nil
        }
    }

    /// Starts a download of the external keys if they are at a URL and a download is due.
    @discardableResult
    private func startFetchIfDue() -> Task<Void, Never>? {
        guard case .url(let url)? = trust?.keys else { return nil }
        return fetcher.startIfDue { [self] () throws(ChatError) in try await fetchKeys(at: url) }
    }

    /// Downloads the external keys, and uses them if they changed.
    private func fetchKeys(at url: KeyURL) async throws(ChatError) {
        let published = try await download.published(at: url)
        let isNew = state.withLock { $0.files != [published.file] }
        guard isNew else { return }
        let keys = try await TokenKeys(published: published.file)
        state.withLock { state in
            state.use(keys, of: [published.file])
            if let issuer = published.issuer { state.issuer = issuer }
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
        let (key, collection) = try signer()
        return try await collection.sign(claims, kid: JWKIdentifier(string: key.kid))
    }

    /// Returns the secret that signs, with the collection that contains it.
    private func signer() throws(ChatError) -> (key: SigningKeys.Key, collection: JWTKeyCollection) {
        let (secrets, collection) = state.withLock { ($0.secrets, $0.collection) }
        return (try secrets.signingKey(at: clock(), uptime: uptime()), collection)
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
            guard var trust else { throw Self.invalidTokenError }
            trust.issuer = state.withLock { $0.issuer }
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
        let now = clock()
        let key = state.withLock { state in state.secrets.keys.keys.first { $0.kid == kid } }
        guard let key, key.isAccepted(at: now) else {
            throw ChatError(.invalidToken, "The token's key is retired. Get a new token.")
        }
        if !allowsExpired, let exp = claims.exp, exp <= now.timeIntervalSince1970 {
            throw ChatError(.tokenExpired, "The token has expired. Get a new one.")
        }
    }

    /// Returns the claims of a token after verifying its signature, from the cache if possible.
    private func signedToken(_ token: String) async throws(ChatError) -> SignedToken {
        let (known, generation) = state.withLock { ($0.cachedTokens[token], $0.generation) }
        if let known { return known }
        let new = try await verifySignature(token)
        state.withLock { state in
            // If the keys changed during the verification, the new keys may not include this one.
            guard state.generation == generation else { return }
            if state.cachedTokens.count >= Self.maximumCachedTokens {
                state.cachedTokens.removeAll(keepingCapacity: true)
            }
            state.cachedTokens[token] = new
        }
        return new
    }

    private func verifySignature(_ token: String) async throws(ChatError) -> SignedToken {
        let header = try TokenHeader(of: token)
        if header.algorithm == Self.ownAlgorithm {
            guard let kid = header.kid else {
                throw ChatError(.invalidToken, "The token has no kid. Get a new one.")
            }
            let (collection, secrets) = state.withLock { ($0.collection, $0.secrets) }
            // For an unknown `kid`, JWTKit would try its first key.
            guard secrets.keys.keys.contains(where: { $0.kid == kid }) else {
                // Another node may sign with a secret that this one could not read yet.
                try secrets.checkAreCurrent(uptime: uptime())
                throw Self.invalidTokenError
            }
            return .own(try await claims(of: token, by: collection), kid: kid)
        }
        guard let trust, let algorithm = KeyAlgorithm(named: header.algorithm) else { throw Self.invalidTokenError }
        let generation = state.withLock { $0.generation }
        do throws(ChatError) {
            return .external(try await claims(of: token, header, algorithm), kid: header.kid)
        } catch {
            guard case .url(let url) = trust.keys else { throw error }
            // The issuer may have published another key since the last download.
            if !isKnown(header.kid) {
                try await fetcher.fetchForUnknownKey { [self] () throws(ChatError) in
                    try await fetchKeys(at: url)
                }
            }
            // The keys may also have changed for another token in the meantime.
            guard state.withLock({ $0.generation }) != generation else { throw error }
            return .external(try await claims(of: token, header, algorithm), kid: header.kid)
        }
    }

    private func isKnown(_ kid: String?) -> Bool {
        guard let kid else { return false }
        return state.withLock { $0.externalKeys?.contains(kid) ?? false }
    }

    /// Returns the claims of an external token after verifying its signature with the key that its header selects.
    private func claims(
        of token: String, _ header: TokenHeader, _ algorithm: KeyAlgorithm
    ) async throws(ChatError) -> ExternalClaims {
        guard let keys = state.withLock({ $0.externalKeys }) else { throw Self.invalidTokenError }
        return try await claims(of: token, by: keys.key(of: header, algorithm).verifier)
    }

    /// A deliberately unspecific error: details could help an attacker, and tokens must not appear in logs.
    private static var invalidTokenError: ChatError {
        ChatError(.invalidToken, "The token is not valid. Get a new one.")
    }

    private func claims<Payload: JWTPayload>(
        of token: String, by collection: JWTKeyCollection
    ) async throws(ChatError) -> Payload {
        do {
            return try await collection.verify(token, as: Payload.self)
        } catch {
            throw Self.invalidTokenError
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
