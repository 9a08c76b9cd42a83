package import Foundation
import GRDB
package import ScrollbackEngine
package import ScrollbackModel

/// A summary of a store file.
package struct StoreSummary: Hashable, Codable, Sendable {
    package var schema: Int
    package var generation: UInt64
    package var conversations: Int64
    package var messages: Int64
}

extension SQLiteStore {
    /// The number of 4 KiB pages that are copied between two progress reports.
    private static let pagesPerStep: CInt = 1_000

    /// Copies the store of a directory into a new file as a consistent snapshot, even while a server writes to it.
    ///
    /// The copy reads one snapshot, so a busy writer neither waits nor restarts the copy. The write-ahead log grows
    /// until the copy ends (decision 13). The copy needs no other files.
    ///
    /// - Parameter progress: Called with the copied bytes and the total bytes.
    /// - Returns: A summary of the copy.
    /// - Throws: `invalid-parameter` if no store exists there; `storage-full` if the disk has no room for the copy.
    package static func copy(
        from directory: URL, to file: URL, progress: (_ done: Int64, _ total: Int64) -> Void
    ) throws(ChatError) -> StoreSummary {
        let path = directory.appending(component: fileName).path
        guard access(directory.path, X_OK) == 0 || errno != EACCES else {
            throw .invalidParameter("data", "can't be read by this user (\(directory.path)); use the server's user")
        }
        guard FileManager.default.fileExists(atPath: path) else {
            throw .invalidParameter("data", "has no store (\(path)); pass a server's data directory")
        }
        return try translating("The store \(path) can't be read.") {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(10)
            let source = try DatabaseQueue(path: path, configuration: configuration)
            let copy = try DatabaseQueue(path: file.path)
            try source.read { source in
                // The snapshot starts with the first read.
                _ = try schema(of: source)
                try copy.writeWithoutTransaction { copy in
                    try translating(on: copy, "The file \(file.path) can't be written.") {
                        try withoutActuallyEscaping(progress) { progress in
                            try source.backup(to: copy, pagesPerStep: pagesPerStep) { step in
                                progress(Int64(step.completedPageCount) * 4096, Int64(step.totalPageCount) * 4096)
                            }
                        }
                    }
                }
            }
            return try finish(copy)
        }
    }

    /// Returns the sorted IDs of the blobs that a store's file refers to, including thumbnails.
    package static func blobs(of file: URL) throws(ChatError) -> [BlobID] {
        try translating("The file \(file.path) can't be read.") {
            var configuration = Configuration()
            configuration.readonly = true
            return try DatabaseQueue(path: file.path, configuration: configuration).read { database in
                guard try schema(of: database) >= 2 else { return [] }
                return try Data.fetchAll(
                    database,
                    sql: """
                        SELECT blob FROM media UNION SELECT thumbnail FROM media WHERE thumbnail IS NOT NULL ORDER BY 1
                        """
                ).compactMap { BlobID($0) }
            }
        }
    }

    /// Sets a new random generation in a restored file, so that clients discard positions of the old log.
    ///
    /// - Returns: A summary of the file with the new generation.
    package static func renewGeneration(of file: URL) throws(ChatError) -> StoreSummary {
        try translating("The file \(file.path) can't be written.") {
            let queue = try DatabaseQueue(path: file.path)
            try queue.write { database in
                try database.execute(
                    sql: "UPDATE meta SET value = ? WHERE name = 'generation'",
                    arguments: [Int64.random(in: .min ... .max)])
                // A backup does not contain the bytes of unfinished uploads.
                if try schema(of: database) >= 2 { try database.execute(sql: "DELETE FROM upload") }
            }
            return try finish(queue)
        }
    }

    /// Summarizes a copy and converts it to a single file that can be read from read-only storage.
    private static func finish(_ queue: DatabaseQueue) throws -> StoreSummary {
        let found = try queue.writeWithoutTransaction { database in
            let found = try summary(of: database)
            // The file header says WAL, as in the original. The log is empty after the read above, so leaving WAL is
            // possible.
            try translating(on: database, "The file \(queue.path) can't be written.") {
                guard try String.fetchOne(database, sql: "PRAGMA journal_mode = DELETE") == "delete" else {
                    throw ChatError(.internalError, "The file \(queue.path) is in use.")
                }
            }
            return found
        }
        try queue.close()
        return found
    }

    static func schema(of database: Database) throws -> Int {
        let schema =
            try Int.fetchOne(database, sql: "SELECT max(CAST(identifier AS INTEGER)) FROM grdb_migrations") ?? 0
        guard schema <= schemaVersion else {
            throw ChatError(
                .internalError,
                "The store has schema \(schema), but this version supports only \(schemaVersion). Use the newer "
                    + "version that wrote it.")
        }
        return schema
    }

    static func summary(of database: Database) throws -> StoreSummary {
        func count(_ sql: String) throws -> Int64 { try Int64.fetchOne(database, sql: sql) ?? 0 }
        return StoreSummary(
            schema: try schema(of: database),
            generation: UInt64(bitPattern: try count("SELECT value FROM meta WHERE name = 'generation'")),
            conversations: try count("SELECT count(*) FROM conversation WHERE NOT isDeleted"),
            messages: try count("SELECT count(*) FROM message"))
    }

    /// Runs `body` and converts SQLite errors into errors that start with the sentence `what`.
    private static func translating<Answer>(
        on database: Database? = nil, _ what: String, _ body: () throws -> Answer
    ) throws(ChatError) -> Answer {
        do {
            return try body()
        } catch let error as ChatError {
            throw error
        } catch let error as DatabaseError {
            guard !error.isOutOfSpace(database) else {
                throw ChatError(.storageFull, "\(what) No space is left.", cause: error)
            }
            throw ChatError(.internalError, "\(what) SQLite reports: \(error.message ?? "no reason").", cause: error)
        } catch {
            throw ChatError(.internalError, what, cause: error)
        }
    }
}
