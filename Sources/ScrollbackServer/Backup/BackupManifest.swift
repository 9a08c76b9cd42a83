import Crypto
package import Foundation
package import ScrollbackModel
import ScrollbackSQLite

/// The manifest of a backup, `backup.json`.
///
/// It is written last, so that its presence marks a complete backup.
package struct BackupManifest: Codable, Sendable {
    package static let fileName = "backup.json"
    /// The newest backup format that this version supports.
    package static let format = 1

    /// A file of the backup with its size and checksum.
    package struct File: Codable, Hashable, Sendable {
        package var name: String
        package var bytes: Int64
        /// The SHA-256 hash in hexadecimal.
        package var sha256: String
    }

    package var format = Self.format
    package var createdAt: Date
    package var schema: Int
    /// The generation in decimal.
    ///
    /// A string, because it has 64 bits and many JSON parsers support fewer.
    package var generation: String
    package var conversations: Int64
    package var messages: Int64
    package var files: [File]
    /// The SHA-256 hash of the manifest without this member.
    private var checksum: String?

    init(_ contents: StoreSummary, files: [File], now: Date) {
        // Rounded to whole seconds, the precision of the JSON format.
        createdAt = Date(timeIntervalSince1970: now.timeIntervalSince1970.rounded(.down))
        schema = contents.schema
        generation = String(contents.generation)
        conversations = contents.conversations
        messages = contents.messages
        self.files = files
    }

    package var bytes: Int64 { files.reduce(0) { $0 + $1.bytes } }

    // MARK: JSON

    func encoded() throws -> Data {
        var manifest = self
        manifest.checksum = try sum()
        return try Self.encoder.encode(manifest)
    }

    private func sum() throws -> String {
        var bare = self
        bare.checksum = nil
        return SHA256.hash(data: try Self.encoder.encode(bare)).hexadecimal
    }

    private static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return encoder
    }

    /// Whether the directory is a backup.
    package static func exists(in directory: URL) -> Bool {
        FileManager.default.fileExists(atPath: directory.appending(component: fileName).path)
    }

    /// Reads the manifest of a backup.
    ///
    /// - Throws: `invalid-parameter` if the manifest is missing, was modified, or has an unsupported format.
    package static func read(in directory: URL) throws(ChatError) -> BackupManifest {
        struct Form: Decodable { var format: Int }
        let file = directory.appending(component: fileName)
        guard let data = FileManager.default.contents(atPath: file.path) else {
            throw .invalidParameter(
                "directory", "is not a complete backup: \(file.path) does not exist")
        }
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        if let form = try? decoder.decode(Form.self, from: data), form.format > format {
            throw .invalidParameter(
                "directory",
                "has the backup format \(form.format), but this version supports formats up to \(format): upgrade it")
        }
        guard let manifest = try? decoder.decode(BackupManifest.self, from: data),
            let sum = try? manifest.sum(), sum == manifest.checksum
        else {
            throw .invalidParameter("directory", "can't be restored: \(file.path) was modified")
        }
        return manifest
    }
}
