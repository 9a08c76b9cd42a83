package import Foundation
import GRDB
package import ScrollbackModel
import SQLiteSupport

/// A file of a queued message.
package struct LocalUpload: Hashable, Sendable {
    package var media: MediaID
    package var message: MessageID
    package var type: MessageType
    package var name: String?
    package var mediaType: String
    package var hash: String
    package var size: Int64
    /// The hash of the file's thumbnail.
    package var thumbnail: String?
    /// The server's path or URL of the upload, once the upload was created.
    package var resource: String?
    /// The URL that the app's own uploader returned.
    package var url: URL?
    package var isDone = false
}

/// A file that is stored on this device.
package struct LocalFile: Hashable, Sendable {
    package var hash: String
    package var size: Int64
}

extension LocalReader {
    /// Returns the files of a queued message, in order.
    package func uploads(of message: MessageID) throws -> [LocalUpload] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT media, type, name, mediaType, hash, size, thumbnail, resource, url, isDone
                    FROM upload WHERE message = ? ORDER BY ordinal
                    """), arguments: [message.data]
        ).map { row in
            let media = try MediaID(row[0] as String)
            return LocalUpload(
                media: media, message: message, type: MessageType(rawValue: row[1]),
                name: try text(row[2], "name", of: .upload(media)), mediaType: row[3], hash: row[4], size: row[5],
                thumbnail: row[6], resource: row[7],
                url: try text(row[8], "url", of: .upload(media)).flatMap { URL(string: $0) }, isDone: row[9])
        }
    }

    /// Returns the stored copy of a file that was sent or downloaded.
    package func file(_ key: String) throws -> LocalFile? {
        try Row.fetchOne(
            db.cachedStatement(sql: "SELECT hash, size FROM file WHERE key = ?"), arguments: [key]
        ).map { LocalFile(hash: $0[0], size: $0[1]) }
    }

    /// Returns the validator of a partially downloaded file.
    package func partialHash(_ key: String) throws -> String? {
        try String.fetchOne(
            db.cachedStatement(sql: "SELECT value FROM meta WHERE key = ?"), arguments: [Self.partialKey + key])
    }

    fileprivate static let partialKey = "partial:"

    fileprivate func partialKeys() throws -> [String] {
        try String.fetchAll(
            db, sql: "SELECT substr(key, length(?1) + 1) FROM meta WHERE substr(key, 1, length(?1)) = ?1",
            arguments: [Self.partialKey])
    }

    /// Returns the hashes that no database row references.
    package func unknownFiles(_ hashes: [String]) throws -> [String] {
        let known = Set(
            try String.fetchAll(
                db,
                sql: """
                    SELECT hash FROM file UNION SELECT hash FROM upload
                    UNION SELECT thumbnail FROM upload WHERE thumbnail IS NOT NULL
                    """))
        return hashes.filter { !known.contains($0) }
    }
}

extension LocalWriter {
    package func insert(_ upload: LocalUpload, ordinal: Int) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO upload (media, message, ordinal, type, name, mediaType, hash, size, thumbnail, isDone)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0)
                """
        ).execute(arguments: [
            upload.media.description, upload.message.data, ordinal, upload.type.rawValue,
            try reader.stored(upload.name, "name", of: .upload(upload.media)), upload.mediaType, upload.hash,
            upload.size, upload.thumbnail,
        ])
    }

    /// Stores the progress of an upload.
    package func save(_ upload: LocalUpload) throws {
        try db.cachedStatement(
            sql: "UPDATE upload SET resource = ?, url = ?, isDone = ? WHERE media = ? AND message = ?"
        ).execute(arguments: [
            upload.resource, try reader.stored(upload.url?.absoluteString, "url", of: .upload(upload.media)),
            upload.isDone, upload.media.description, upload.message.data,
        ])
    }

    /// Resets the uploads of a message, except files that the app's own uploader stored.
    ///
    /// - Returns: `false` if the message has no such files.
    package func resetUploads(of message: MessageID) throws -> Bool {
        try db.cachedStatement(
            sql: "UPDATE upload SET resource = NULL, isDone = 0 WHERE message = ? AND url IS NULL"
        ).execute(arguments: [message.data])
        return db.changesCount > 0
    }

    /// Recreates the uploads of a message that the server may have lost, for its files that are stored on this device.
    ///
    /// A quote does not need the file of the quoted message.
    func recreateUploads(of message: MessageID, with content: MessageContent, from files: LocalFiles) throws {
        let media = content.media
        for (ordinal, reference) in content.fileReferences.enumerated() where !reference.isQuoted {
            let place = Media(.hosted(reference.id))
            guard let file = try reader.file(place.key), files.isStored(file.hash, size: file.size) else { continue }
            let thumbnail = try reader.file(place.thumbnailKey).flatMap { thumbnail in
                files.isStored(thumbnail.hash, size: thumbnail.size) ? thumbnail.hash : nil
            }
            try insert(
                LocalUpload(
                    media: reference.id, message: message, type: reference.type ?? .file, name: media?.name,
                    mediaType: media?.mediaType ?? "application/octet-stream", hash: file.hash, size: file.size,
                    thumbnail: thumbnail),
                ordinal: ordinal)
        }
    }

    /// Gives a file of a queued message a new ID, because the server has another user's file with its ID.
    ///
    /// Another user can have uploaded the file first, if both sent it and the server lost both messages.
    ///
    /// - Returns: The upload with the new ID.
    /// - Throws: The error of the decryption if the message can't be decrypted on this device, and therefore not be
    ///   changed. `cancelled` if the message left the outbox.
    package func assignNewID(to upload: LocalUpload, now: Date) throws -> LocalUpload {
        guard var pending = try reader.pending(upload.message) else {
            throw ChatError(.cancelled, "The message was cancelled.")
        }
        if let error = pending.decryptionError { throw error }
        var renamed = upload
        renamed.media = MediaID()
        renamed.resource = nil
        try db.cachedStatement(
            sql: "UPDATE upload SET media = ?, name = ?, resource = NULL WHERE media = ? AND message = ?"
        ).execute(arguments: [
            renamed.media.description, try reader.stored(upload.name, "name", of: .upload(renamed.media)),
            upload.media.description, upload.message.data,
        ])
        pending.submission.content = pending.submission.content.replacingFile(
            upload.media, with: .hosted(renamed.media))
        try replaceLost(pending)
        let place = Media(.hosted(renamed.media))
        try save(LocalFile(hash: upload.hash, size: upload.size), as: place.key, now: now)
        if let thumbnail = upload.thumbnail,
            let file = try reader.file(Media(.hosted(upload.media)).thumbnailKey), file.hash == thumbnail
        {
            try save(file, as: place.thumbnailKey, now: now)
        }
        return renamed
    }

    func removeUploads(of message: MessageID) throws {
        try db.cachedStatement(sql: "DELETE FROM upload WHERE message = ?").execute(arguments: [message.data])
    }

    /// Stores a file's record and marks it as used now.
    package func save(_ file: LocalFile, as key: String, now: Date) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO file (key, hash, size, usedAt) VALUES (?, ?, ?, ?)
                ON CONFLICT (key) DO UPDATE SET hash = excluded.hash, size = excluded.size, usedAt = excluded.usedAt
                """
        ).execute(arguments: [key, file.hash, file.size, now.timeIntervalSince1970])
    }

    /// Stores the validator of a partially downloaded file; `nil` deletes it when the download is complete.
    package func savePartialHash(_ hash: String?, _ key: String) throws {
        let key = LocalReader.partialKey + key
        guard let hash else { return try db.execute(sql: "DELETE FROM meta WHERE key = ?", arguments: [key]) }
        try db.execute(sql: "INSERT OR REPLACE INTO meta VALUES (?, ?)", arguments: [key, hash])
    }

    /// Deletes the records of partial downloads, except some.
    package func deletePartialRecords(but isKept: (String) -> Bool) throws {
        for key in try reader.partialKeys() where !isKept(key) { try savePartialHash(nil, key) }
    }

    package func use(_ key: String, now: Date) throws {
        try db.cachedStatement(sql: "UPDATE file SET usedAt = ? WHERE key = ?")
            .execute(arguments: [now.timeIntervalSince1970, key])
    }

    /// Deletes the records of the least recently used files until the total size is within a limit.
    ///
    /// Files of queued messages stay.
    ///
    /// - Returns: The hashes that no record references any more.
    package func evictFileRecords(above limit: Int64, keeping kept: String? = nil) throws -> [String] {
        // A file that is stored under several keys takes up space only once.
        let size = "SELECT coalesce(sum(size), 0) FROM (SELECT max(size) AS size FROM file GROUP BY hash)"
        var total = try Int64.fetchOne(db, sql: size) ?? 0
        guard total > limit else { return [] }
        var gone: [String] = []
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT hash, max(size) FROM file
                WHERE hash NOT IN (SELECT hash FROM upload)
                AND hash NOT IN (SELECT thumbnail FROM upload WHERE thumbnail IS NOT NULL)
                GROUP BY hash ORDER BY max(usedAt)
                """)
        for row in rows where total > limit && row[0] != kept {
            let hash: String = row[0]
            try db.execute(sql: "DELETE FROM file WHERE hash = ?", arguments: [hash])
            total -= row[1]
            gone.append(hash)
        }
        return gone
    }
}

extension Media {
    /// The key of the file's copy on the device.
    package var key: String {
        switch source {
        case .hosted(let id): id.description
        case .remote(let url): url.absoluteString
        }
    }

    /// The key of the thumbnail's copy on the device.
    package var thumbnailKey: String { key + "/thumbnail" }
}
