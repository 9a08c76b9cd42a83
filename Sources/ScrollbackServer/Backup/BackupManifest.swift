import Crypto
package import Foundation
package import ScrollbackModel
import ScrollbackSQLite

/// What a backup says of itself, in `backup.json`: written last, so a directory that has it has everything.
package struct BackupManifest: Codable, Sendable {
    package static let fileName = "backup.json"
    /// The newest form of a backup this version knows.
    package static let format = 1

    /// One of its files, as it was written.
    package struct File: Codable, Hashable, Sendable {
        package var name: String
        package var bytes: Int64
        /// In hexadecimal.
        package var sha256: String
    }

    package var format = Self.format
    package var createdAt: Date
    package var schema: Int
    /// In decimal: it has 64 bits, and JSON's readers take fewer.
    package var generation: String
    package var conversations: Int64
    package var messages: Int64
    package var files: [File]
    /// Of everything above.
    private var checksum: String?

    init(_ contents: StoreContents, files: [File], now: Date) {
        // To the second, as it is written.
        createdAt = Date(timeIntervalSince1970: now.timeIntervalSince1970.rounded(.down))
        schema = contents.schema
        generation = String(contents.generation)
        conversations = contents.conversations
        messages = contents.messages
        self.files = files
    }

    package var bytes: Int64 { files.reduce(0) { $0 + $1.bytes } }

    // MARK: As JSON

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

    /// Whether a directory holds a backup.
    package static func exists(in directory: URL) -> Bool {
        FileManager.default.fileExists(atPath: directory.appending(component: fileName).path)
    }

    /// Reads a backup's manifest.
    ///
    /// - Throws: `invalid-parameter` where there is none, it was changed, or a newer version wrote it.
    package static func read(in directory: URL) throws(ChatError) -> BackupManifest {
        struct Form: Decodable { var format: Int }
        let file = directory.appending(component: fileName)
        guard let data = FileManager.default.contents(atPath: file.path) else {
            throw .invalidParameter(
                "directory", "is no backup, or one that was not finished: there is no \(file.path)")
        }
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        if let form = try? decoder.decode(Form.self, from: data), form.format > format {
            throw .invalidParameter(
                "directory",
                "is a backup of form \(form.format), and this version knows forms up to \(format): use a newer one")
        }
        guard let manifest = try? decoder.decode(BackupManifest.self, from: data),
            let sum = try? manifest.sum(), sum == manifest.checksum
        else {
            throw .invalidParameter("directory", "can't be restored: \(file.path) was changed, take another backup")
        }
        return manifest
    }
}

extension Sequence<UInt8> {
    var hexadecimal: String {
        reduce(into: "") { text, byte in
            if byte < 16 { text += "0" }
            text += String(byte, radix: 16)
        }
    }
}
