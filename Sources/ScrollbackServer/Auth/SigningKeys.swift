package import Foundation
import ScrollbackModel

/// The secrets tokens are signed with, in `secrets.json` of the data directory.
///
/// The newest signs; older ones are accepted until they retire, so that rotating them interrupts nobody.
package struct SigningKeys: Codable, Sendable {
    package var keys: [Key]

    package struct Key: Codable, Sendable {
        package var kid: String
        /// 32 random bytes, base64.
        package var secret: String
        package var createdAt: Date
        /// After this it is not accepted any more.
        package var retiresAt: Date?
    }

    private static func makeKey(now: Date) -> Key {
        let bytes = SymmetricKeyBytes.random(count: 32)
        return Key(
            kid: UUID().uuidString.lowercased(), secret: Data(bytes).base64EncodedString(), createdAt: now,
            retiresAt: nil)
    }

    /// Reads the file, or makes it, readable by its owner alone.
    package static func open(in directory: URL, now: Date = Date()) throws -> SigningKeys {
        let file = directory.appending(path: "secrets.json")
        if FileManager.default.fileExists(atPath: file.path) {
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .iso8601
            do {
                return try decoder.decode(SigningKeys.self, from: Data(contentsOf: file))
            } catch {
                throw ChatError(
                    .internalError, "\(file.path) can't be read: put it back, or remove it and every token with it",
                    cause: error)
            }
        }
        let keys = SigningKeys(keys: [makeKey(now: now)])
        try keys.save(in: directory)
        return keys
    }

    /// Adds a key that signs from now on; those before it are accepted for `overlap` more.
    package mutating func rotate(overlap: TimeInterval, now: Date = Date()) {
        keys.removeAll { key in key.retiresAt.map { $0 <= now } ?? false }
        for index in keys.indices where keys[index].retiresAt == nil {
            keys[index].retiresAt = now.addingTimeInterval(overlap)
        }
        keys.append(Self.makeKey(now: now))
    }

    package func save(in directory: URL) throws {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try PrivateFile.write(encoder.encode(self), to: directory.appending(path: "secrets.json"))
    }
}

private enum SymmetricKeyBytes {
    static func random(count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }
}

/// Files that only their owner may read.
package enum PrivateFile {
    package static func write(_ data: Data, to file: URL) throws {
        let temporary = file.appendingPathExtension("new")
        try? FileManager.default.removeItem(at: temporary)
        guard
            FileManager.default.createFile(
                atPath: temporary.path, contents: data, attributes: [.posixPermissions: 0o600])
        else {
            throw ChatError(.internalError, "\(temporary.path) can't be written")
        }
        // Renaming replaces the old file at once: nobody ever reads half of it.
        guard rename(temporary.path, file.path) == 0 else {
            throw ChatError(.internalError, "\(file.path) can't be replaced: \(String(cString: strerror(errno)))")
        }
    }
}
