import Foundation
import JWTKit
import ScrollbackModel
import Synchronization

/// The secrets of the server's own tokens, from `secrets.json` in the data directory or from the nodes' database.
final class ServerSecrets: Sendable {
    private let directory: URL
    /// Whether other nodes use the same secrets, which ``useShared(_:readAt:)`` passes.
    private let isShared: Bool
    private let clock: @Sendable () -> Date
    private let uptime: @Sendable () -> ContinuousClock.Instant
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
        var version = 0
    }

    /// Opens `secrets.json`, and creates it if it does not exist.
    init(
        in directory: URL, isShared: Bool, clock: @escaping @Sendable () -> Date,
        uptime: @escaping @Sendable () -> ContinuousClock.Instant
    ) async throws {
        self.directory = directory
        self.isShared = isShared
        self.clock = clock
        self.uptime = uptime
        let file = Self.file(in: directory)
        let keys = try SigningKeys.open(in: directory, now: clock())
        let collection = await Self.collection(of: keys)
        state = Mutex(State(secrets: TokenSecrets(keys, isShared: isShared), collection: collection, file: file))
    }

    private static func file(in directory: URL) -> Data? {
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

    /// A number that increases with each change.
    var version: Int { state.withLock { $0.version } }

    // MARK: Changes

    /// Reloads `secrets.json` if it changed.
    ///
    /// - Throws: The reason why the file can't be loaded. Then the previous secrets stay in use.
    func reload() async throws {
        guard !isShared else { return }
        let file = Self.file(in: directory)
        guard file == nil || file != state.withLock({ $0.file }) else { return }
        let keys = try SigningKeys.open(in: directory)
        let collection = await Self.collection(of: keys)
        state.withLock { state in
            state.secrets.replace(by: keys)
            (state.collection, state.file) = (collection, file)
            state.version += 1
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
    func useShared(_ bytes: [UInt8], readAt start: ContinuousClock.Instant) async throws -> Bool {
        let keys = try SigningKeys(decoding: bytes)
        let file = Self.file(in: directory)
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
            state.version += 1
        }
        let written = Data(try keys.encoded())
        try keys.save(in: directory)
        state.withLock { state in
            (state.shared, state.file) = (bytes, written)
        }
        return isOnlyFile
    }

    /// The contents of `secrets.json` with the secrets in use.
    func encoded() throws -> [UInt8] { try state.withLock { $0.secrets.keys }.encoded() }

    /// Returns the IDs of the secrets that have retired within the last minute; call this every few seconds.
    func retiredKeys() -> Set<String> {
        let now = clock()
        return state.withLock { $0.secrets.retiredKeys(at: now) }
    }

    // MARK: Use

    /// Returns the secret that signs, with the collection that contains it.
    ///
    /// - Throws: `overloaded` if this node could not read the shared secrets for some time.
    func signer() throws(ChatError) -> (key: SigningKeys.Key, collection: JWTKeyCollection) {
        let (secrets, collection) = state.withLock { ($0.secrets, $0.collection) }
        return (try secrets.signingKey(at: clock(), uptime: uptime()), collection)
    }

    /// Returns the collection that contains a secret, or `nil` if no secret has the ID.
    ///
    /// - Throws: `overloaded` if another node may sign with a secret that this one could not read yet.
    func collection(with kid: String) throws(ChatError) -> JWTKeyCollection? {
        let (collection, secrets) = state.withLock { ($0.collection, $0.secrets) }
        if secrets.keys.keys.contains(where: { $0.kid == kid }) { return collection }
        try secrets.checkAreCurrent(uptime: uptime())
        return nil
    }

    /// Whether tokens of a secret are accepted now.
    func accepts(_ kid: String) -> Bool {
        let now = clock()
        return state.withLock { $0.secrets.keys.keys.first { $0.kid == kid } }?.isAccepted(at: now) ?? false
    }
}
