package import Foundation
import GRDB
package import ScrollbackModel
import StoreFiles

/// A file of a message in the outbox.
package struct LocalUpload: Hashable, Sendable {
    package var media: MediaID
    package var message: MessageID
    package var type: MessageType
    package var name: String?
    package var mediaType: String
    package var hash: String
    package var size: Int64
    /// The hash of the small picture that goes with it.
    package var thumbnail: String?
    /// What the server calls its upload, once it was begun.
    package var resource: String?
    /// Where the app's own uploader brought it.
    package var url: URL?
    package var isDone = false
}

/// A file that lies on this device.
package struct LocalFile: Hashable, Sendable {
    package var hash: String
    package var size: Int64
}

extension LocalReader {
    /// The files of a message that is to be sent, in order.
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

    /// The copy of a file that was sent or fetched.
    package func file(_ key: String) throws -> LocalFile? {
        try Row.fetchOne(
            db.cachedStatement(sql: "SELECT hash, size FROM file WHERE key = ?"), arguments: [key]
        ).map { LocalFile(hash: $0[0], size: $0[1]) }
    }

    /// What a file was when a part of it was fetched.
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

    /// Those of some files that no row knows.
    package func unknownFiles(_ hashes: [String]) throws -> [String] {
        let known = Set(
            try String.fetchAll(
                db,
                sql:
                    "SELECT hash FROM file UNION SELECT hash FROM upload UNION SELECT thumbnail FROM upload WHERE thumbnail IS NOT NULL"
            ))
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

    /// Notes how far an upload has come.
    package func save(_ upload: LocalUpload) throws {
        try db.cachedStatement(sql: "UPDATE upload SET resource = ?, url = ?, isDone = ? WHERE media = ?")
            .execute(arguments: [
                upload.resource, try reader.stored(upload.url?.absoluteString, "url", of: .upload(upload.media)),
                upload.isDone, upload.media.description,
            ])
    }

    /// Notes that nothing of a message's files is on the server, but for those that the app's own uploader brought somewhere.
    ///
    /// - Returns: false where it has none.
    package func forgetUploads(of message: MessageID) throws -> Bool {
        try db.cachedStatement(
            sql: "UPDATE upload SET resource = NULL, isDone = 0 WHERE message = ? AND url IS NULL"
        ).execute(arguments: [message.data])
        return db.changesCount > 0
    }

    func removeUploads(of message: MessageID) throws {
        try db.cachedStatement(sql: "DELETE FROM upload WHERE message = ?").execute(arguments: [message.data])
    }

    /// Notes a file as used now.
    package func save(_ file: LocalFile, as key: String, now: Date) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO file (key, hash, size, usedAt) VALUES (?, ?, ?, ?)
                ON CONFLICT (key) DO UPDATE SET hash = excluded.hash, size = excluded.size, usedAt = excluded.usedAt
                """
        ).execute(arguments: [key, file.hash, file.size, now.timeIntervalSince1970])
    }

    /// Notes what the file is that a part of was fetched; nothing once it is here whole.
    package func savePartialHash(_ hash: String?, _ key: String) throws {
        let key = LocalReader.partialKey + key
        guard let hash else { return try db.execute(sql: "DELETE FROM meta WHERE key = ?", arguments: [key]) }
        try db.execute(sql: "INSERT OR REPLACE INTO meta VALUES (?, ?)", arguments: [key, hash])
    }

    /// Forgets what was fetched in part, but for some.
    package func forgetPartials(but isKept: (String) -> Bool) throws {
        for key in try reader.partialKeys() where !isKept(key) { try savePartialHash(nil, key) }
    }

    package func use(_ key: String, now: Date) throws {
        try db.cachedStatement(sql: "UPDATE file SET usedAt = ? WHERE key = ?")
            .execute(arguments: [now.timeIntervalSince1970, key])
    }

    /// Forgets the files that were used longest ago until no more than a size is left; what is to be sent stays.
    ///
    /// - Returns: the hashes that nothing knows any more.
    package func forgetFiles(above limit: Int64, keeping kept: String? = nil) throws -> [String] {
        // Under many keys one file takes its room once.
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
    /// What a device calls its copy.
    package var key: String {
        switch source {
        case .hosted(let id): id.description
        case .remote(let url): url.absoluteString
        }
    }

    /// What a device calls its copy of the small picture.
    package var thumbnailKey: String { key + "/thumbnail" }
}
