package import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

/// Returns the size of a blob on disk in bytes; `nil` if it does not exist.
package typealias BlobSize = (BlobID) -> Int64?

extension Verification {
    /// Verifies files.
    ///
    /// Every reference must have its message and every file its bytes. A file without references must have the time
    /// since when.
    mutating func checkMedia() throws {
        var hasTables = false
        try connection.run(uncached: "SELECT 1 FROM sqlite_schema WHERE name = 'mediaUse'") { _ in
            hasTables = true
            return false
        }
        // A backup of an older version does not have the table.
        guard hasTables else { return }
        try connection.run(
            uncached: """
                SELECT mediaUse.conversation, mediaUse.seq, media.id IS NULL FROM mediaUse
                LEFT JOIN message ON message.conversation = mediaUse.conversation AND message.seq = mediaUse.seq
                LEFT JOIN media ON media.id = mediaUse.media
                WHERE message.seq IS NULL OR message.content IS NULL OR media.id IS NULL
                """
        ) { columns in
            let (conversation, seq, hasNoFile) = (columns.integer(), columns.integer(), columns.flag())
            try found(
                hasNoFile
                    ? "conversation \(conversation): message \(seq) refers to a file without a row"
                    : "conversation \(conversation): message \(seq), which refers to a file, does not exist")
            return true
        }
        try connection.run(
            uncached: """
                SELECT \(MediaRow.columns), EXISTS (SELECT 1 FROM mediaUse WHERE mediaUse.media = media.id) FROM media
                """
        ) { columns in
            let row = try MediaRow(&columns)
            if columns.flag() != (row.unusedSince == nil) {
                try found("file \(row.id): its use by messages is recorded inconsistently")
            }
            guard let blobSize else { return true }
            try check(row.blob, row.size, of: "file \(row.id)", blobSize)
            if let thumbnail = row.thumbnail {
                try check(thumbnail.blob, thumbnail.size, of: "the thumbnail of file \(row.id)", blobSize)
            }
            return true
        }
    }

    private mutating func check(_ blob: BlobID, _ size: Int64, of what: String, _ blobSize: BlobSize) throws {
        guard let found = blobSize(blob) else { return try self.found("\(what): the bytes \(blob) are missing") }
        if found != size { try self.found("\(what): \(size) bytes were stored, but \(found) exist") }
    }
}
