package import Foundation
import JWTKit
package import Logging
package import ScrollbackEngine
package import ScrollbackModel
package import ScrollbackWire
import Synchronization

/// Makes and checks tokens: JWT (RFC 7519), its own by HS256, and those of others whose public keys are known.
package final class TokenService: Sendable {
    private let directory: URL
    private let trust: TokenTrust?
    private let clock: @Sendable () -> Date
    private let state: Mutex<State>

    private struct State {
        var keys: SigningKeys
        var collection: JWTKeyCollection
        var modifiedAt: Date?
        /// Others' keys, and the files they were looked for in last: of files that are no good the keys before stay.
        var foreignKeys: TokenKeys?
        var files: [KeyFile] = []
        /// What was said last of what can't be read, so that it is not said every time.
        var faults: [String: String] = [:]
        /// Another one with each change of keys.
        var generation = 0
        /// What tokens say whose signatures were found right, as long as the keys are these.
        var known: [String: Known] = [:]

        mutating func keysChanged() {
            generation += 1
            known.removeAll()
        }
    }

    /// A token whose signature was found right.
    private enum Known {
        case own(Claims, kid: String)
        case foreign(ForeignClaims, TokenTrust)
    }

    /// How many tokens are known without looking at their signatures again.
    private static let mostKnown = 4096
    /// How this server signs.
    private static let ownAlgorithm = "HS256"

    /// The longest a token may be valid, unless it is an administrator's.
    package static let maximumLifetime: TimeInterval = 366 * 86_400
    package static let standardLifetime: TimeInterval = 30 * 86_400

    /// - Parameters:
    ///   - directory: has the secrets, and is given some where it has none.
    ///   - trust: whose tokens are taken besides.
    package init(
        directory: URL, trust: TokenTrust? = nil, clock: @escaping @Sendable () -> Date = { Date() }
    ) async throws {
        self.directory = directory
        self.trust = trust
        self.clock = clock
        let keys = try SigningKeys.open(in: directory, now: clock())
        let collection = await Self.collection(of: keys)
        var state = State(keys: keys, collection: collection, modifiedAt: Self.modificationDate(of: directory))
        if let trust {
            state.files = try KeyFile.all(at: trust.keys)
            state.foreignKeys = try await TokenKeys(state.files)
        }
        self.state = Mutex(state)
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

    // MARK: Keys that change

    /// Others' keys; nothing where no others are trusted.
    package var foreignKeys: TokenKeys? { state.withLock { $0.foreignKeys } }

    /// Takes over secrets that another process rotated, and others' keys that were put there.
    ///
    /// What can't be read, or is no good, is logged once, and what was there before stays.
    package func reloadIfChanged(logger: Logger) async {
        do {
            try await reloadSecrets()
            tell(nil, of: "secrets.json", logger)
        } catch {
            tell(ChatError(wrapping: error).message, of: "secrets.json", logger)
        }
        guard let trust else { return }
        do {
            try await reloadKeys(trust)?.tell(logger)
        } catch {
            tell(ChatError(wrapping: error).message, of: "the keys of tokens", logger)
        }
    }

    private func tell(_ fault: String?, of what: String, _ logger: Logger) {
        let isNews = state.withLock { state in
            defer { state.faults[what] = fault }
            return state.faults[what] != fault
        }
        guard isNews, let fault else { return }
        logger.error("\(what) changed and can't be used: what was there before stays", metadata: ["reason": "\(fault)"])
    }

    private func reloadSecrets() async throws {
        let modifiedAt = Self.modificationDate(of: directory)
        guard modifiedAt != state.withLock({ $0.modifiedAt }) else { return }
        let keys = try SigningKeys.open(in: directory)
        let collection = await Self.collection(of: keys)
        state.withLock { state in
            (state.keys, state.collection, state.modifiedAt) = (keys, collection, modifiedAt)
            state.keysChanged()
        }
    }

    /// The bytes are compared, not times: behind a link, as orchestrators place files, and within one second those stay.
    ///
    /// - Returns: the keys, where they changed.
    /// - Throws: why the files are no good; once for the same bytes.
    private func reloadKeys(_ trust: TokenTrust) async throws(ChatError) -> TokenKeys? {
        let files: [KeyFile]
        do {
            files = try KeyFile.all(at: trust.keys)
        } catch {
            // When they are there again they are looked at, be they what they were.
            state.withLock { $0.files = [] }
            throw error
        }
        let isNew = state.withLock { state in
            defer { state.files = files }
            return state.files != files
        }
        guard isNew else { return nil }
        let keys = try await TokenKeys(files)
        state.withLock { state in
            state.foreignKeys = keys
            state.faults["the keys of tokens"] = nil
            state.keysChanged()
        }
        return keys
    }

    // MARK: Making

    /// - Parameter lifetime: seconds; `nil` for a token that does not expire.
    package func token(for user: UserID, isAdmin: Bool, lifetime: TimeInterval?) async throws -> String {
        try await token(for: user, scopes: isAdmin ? Scopes([.admin]) : .all, lifetime: lifetime)
    }

    /// - Parameters:
    ///   - scopes: what it is good for.
    ///   - lifetime: seconds; `nil` for a token that does not expire.
    package func token(for user: UserID, scopes: Scopes, lifetime: TimeInterval?) async throws -> String {
        let now = clock()
        return try await sign(
            Claims(
                sub: user.text, scopes: scopes.names, iat: now.timeIntervalSince1970,
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

    // MARK: Checking

    /// Checks a token.
    ///
    /// - Parameter evenExpired: whether its time may be over; its key's may not.
    /// - Throws: `invalid-token` or `token-expired`.
    package func verify(_ token: String, evenExpired: Bool = false) async throws(ChatError) -> VerifiedToken {
        switch try await known(token) {
        case .own(let claims, let kid):
            try check(claims, kid, evenExpired: evenExpired)
            // A link's token is for its file and for nothing else.
            guard claims.media == nil, claims.scopes?.contains("media") != true else {
                throw ChatError(.invalidToken, "the token is a link's, which is good for its file alone")
            }
            // A name that a newer server gave is nothing here, and no reason to be good for all.
            let scopes = claims.scopes.map { Scopes(Set($0.compactMap { Scope(rawValue: $0) })) } ?? .all
            return try Self.verified(claims, scopes)
        case .foreign(let claims, let trust):
            return try trust.verified(claims, now: clock(), evenExpired: evenExpired)
        }
    }

    /// Checks a link's token, which this server made.
    ///
    /// - Throws: `invalid-token` or `token-expired`.
    func verify(_ token: String, for link: MediaLink) async throws(ChatError) -> VerifiedToken {
        guard case .own(let claims, let kid) = try await known(token) else {
            throw ChatError(.invalidToken, "the link is not of this server: make one with POST /v1/media/{id}/link")
        }
        try check(claims, kid, evenExpired: false)
        guard claims.scopes?.contains("media") == true, claims.media == link.text else {
            throw ChatError(.invalidToken, "the link is not of this file: make one with POST /v1/media/{id}/link")
        }
        return try Self.verified(claims, Scopes(claims.scopes?.contains("admin") == true ? [.admin] : [.read]))
    }

    private static func verified(_ claims: Claims, _ scopes: Scopes) throws(ChatError) -> VerifiedToken {
        VerifiedToken(
            caller: Caller(
                user: try UserID(claims.sub, parameter: "token"), isAdmin: scopes.contains(.admin), scopes: scopes),
            issuedAt: Date(timeIntervalSince1970: claims.iat),
            expiresAt: claims.exp.map { Date(timeIntervalSince1970: $0) })
    }

    private func check(_ claims: Claims, _ kid: String, evenExpired: Bool) throws(ChatError) {
        let now = clock()
        let key = state.withLock { state in state.keys.keys.first { $0.kid == kid } }
        guard let key, key.retiresAt.map({ now < $0 }) ?? true else {
            throw ChatError(.invalidToken, "the token's key is retired: ask for a new token")
        }
        if !evenExpired, let exp = claims.exp, exp <= now.timeIntervalSince1970 {
            throw ChatError(.tokenExpired, "the token expired: ask for a new one")
        }
    }

    /// What a token says, if its signature is right.
    private func known(_ token: String) async throws(ChatError) -> Known {
        let (known, generation) = state.withLock { ($0.known[token], $0.generation) }
        if let known { return known }
        let new = try await signed(token)
        state.withLock { state in
            // Keys that were read anew meanwhile may not have this one.
            guard state.generation == generation else { return }
            if state.known.count >= Self.mostKnown { state.known.removeAll(keepingCapacity: true) }
            state.known[token] = new
        }
        return new
    }

    private func signed(_ token: String) async throws(ChatError) -> Known {
        let header = try TokenHeader(of: token)
        if header.algorithm == Self.ownAlgorithm {
            guard let kid = header.kid else {
                throw ChatError(.invalidToken, "the token names no key: ask for a new one")
            }
            let (collection, isKnown) = state.withLock { state in
                (state.collection, state.keys.keys.contains { $0.kid == kid })
            }
            // With another the library would try its first key.
            guard isKnown else { throw Self.notValid }
            return .own(try await claims(of: token, by: collection), kid: kid)
        }
        guard let trust, let keys = foreignKeys, let algorithm = KeyAlgorithm(named: header.algorithm) else {
            throw Self.notValid
        }
        let key = try keys.key(of: header, algorithm)
        return .foreign(try await claims(of: token, by: key.verifier), trust)
    }

    /// What was wrong with it is nobody's business but the log's, and the token is not for the log either.
    private static var notValid: ChatError {
        ChatError(.invalidToken, "the token is not valid: ask for a new one")
    }

    private func claims<Payload: JWTPayload>(
        of token: String, by collection: JWTKeyCollection
    ) async throws(ChatError) -> Payload {
        do {
            return try await collection.verify(token, as: Payload.self)
        } catch {
            throw Self.notValid
        }
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
