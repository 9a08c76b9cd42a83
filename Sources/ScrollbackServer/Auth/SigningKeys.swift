import Crypto
package import Foundation
import ScrollbackModel

/// The secrets that sign the server's own tokens, in the file `secrets.json` of the data directory.
///
/// The newest key signs, unless it is only accepted yet. Older keys verify tokens until they retire, so that rotating
/// the keys does not invalidate tokens.
package struct SigningKeys: Codable, Sendable {
    package var keys: [Key]
    /// The key that authenticates clients' checkpoints, encoded as base64.
    ///
    /// If it is absent, it is derived from the oldest signing key. A snapshot of a directory from before an update
    /// therefore has the same key. The first rotation stores it.
    private var checkpointSecret: String?

    package struct Key: Codable, Sendable {
        package var kid: String
        /// 32 random bytes, encoded as base64.
        package var secret: String
        package var createdAt: Date
        /// The time from which the key signs, or `nil` for a key that signs since it was made.
        ///
        /// Until then, servers only accept its tokens.
        package var signsAt: Date?
        /// The time after which the key is no longer accepted, or `nil` for the newest key.
        package var retiresAt: Date?

        func isAccepted(at now: Date) -> Bool { retiresAt.map { now < $0 } ?? true }

        func maySign(at now: Date) -> Bool { isAccepted(at: now) && signsAt.map { $0 <= now } ?? true }
    }

    private static func makeKey(now: Date) -> Key {
        let bytes = SymmetricKeyBytes.random(count: 32)
        return Key(
            kid: UUID().uuidString.lowercased(), secret: Data(bytes).base64EncodedString(), createdAt: now,
            retiresAt: nil)
    }

    /// Reads `secrets.json`; returns `nil` if the directory has none.
    package static func existing(in directory: URL) throws -> SigningKeys? {
        let file = directory.appending(path: "secrets.json")
        return FileManager.default.fileExists(atPath: file.path) ? try open(in: directory) : nil
    }

    /// Reads `secrets.json`, or creates the file with mode 0600 if it does not exist.
    ///
    /// - Throws: `internal-error` if the file can't be read or written.
    package static func open(in directory: URL, now: Date = Date()) throws -> SigningKeys {
        let file = directory.appending(path: "secrets.json")
        if FileManager.default.fileExists(atPath: file.path) {
            do {
                return try SigningKeys(decoding: Data(contentsOf: file))
            } catch {
                throw ChatError(
                    .internalError,
                    "Can't read \(file.path). Restore the file, or delete it to invalidate every token.",
                    cause: error)
            }
        }
        let keys = SigningKeys(keys: [makeKey(now: now)])
        try keys.save(in: directory)
        return keys
    }

    private init(keys: [Key]) {
        self.keys = keys
    }

    /// Decodes the contents of `secrets.json`.
    init(decoding bytes: some Sequence<UInt8>) throws {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        self = try decoder.decode(SigningKeys.self, from: Data(bytes))
    }

    /// The contents of `secrets.json`.
    func encoded() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        return Array(try encoder.encode(self))
    }

    /// The key that authenticates clients' checkpoints; it never changes.
    package var checkpointKey: [UInt8] {
        if let secret = checkpointSecret.flatMap({ Data(base64Encoded: $0) }) { return Array(secret) }
        let secret = keys.first.flatMap { Data(base64Encoded: $0.secret) } ?? Data()
        let code = HMAC<SHA256>.authenticationCode(
            for: Data("scrollback checkpoint".utf8), using: SymmetricKey(data: secret))
        return Array(code)
    }

    /// Adds a new signing key.
    ///
    /// Tokens of the existing keys remain valid for `overlap` seconds.
    package mutating func rotate(overlap: TimeInterval, now: Date = Date()) {
        add(Self.makeKey(now: now), retiringOthersAt: now.addingTimeInterval(overlap), now: now)
    }

    /// Adds a key that is accepted from now on and signs later.
    ///
    /// - Parameter retirement: When the key that signs until then is no longer accepted.
    /// - Returns: The ID of the key.
    /// - Throws: `conflict` if an earlier key does not sign yet.
    mutating func add(signingAt start: Date, retiringOthersAt retirement: Date, now: Date) throws(ChatError) -> String {
        if let waiting = keys.compactMap(\.signsAt).max(), waiting > now {
            throw ChatError(
                .conflict,
                "The secret was just replaced: the new one signs from \(waiting.iso8601) on. To replace it again, "
                    + "repeat the request after that.")
        }
        var key = Self.makeKey(now: now)
        key.signsAt = start
        add(key, retiringOthersAt: retirement, now: now)
        return key.kid
    }

    private mutating func add(_ key: Key, retiringOthersAt retirement: Date, now: Date) {
        checkpointSecret = Data(checkpointKey).base64EncodedString()
        keys.removeAll { !$0.isAccepted(at: now) }
        for index in keys.indices where keys[index].retiresAt == nil { keys[index].retiresAt = retirement }
        keys.append(key)
    }

    package func save(in directory: URL) throws {
        try PrivateFile.write(Data(encoded()), to: directory.appending(path: "secrets.json"))
    }
}

private enum SymmetricKeyBytes {
    static func random(count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }
}

/// Writes files that only their owner may read.
package enum PrivateFile {
    package static func write(_ data: Data, to file: URL) throws {
        let temporary = file.appendingPathExtension("new")
        try? FileManager.default.removeItem(at: temporary)
        guard
            FileManager.default.createFile(
                atPath: temporary.path, contents: data, attributes: [.posixPermissions: 0o600])
        else {
            throw ChatError(.internalError, "Can't write \(temporary.path).")
        }
        // The rename is atomic, so that readers never see a partial file.
        guard rename(temporary.path, file.path) == 0 else {
            throw ChatError(.internalError, "Can't replace \(file.path): \(String(cString: strerror(errno))).")
        }
    }
}
