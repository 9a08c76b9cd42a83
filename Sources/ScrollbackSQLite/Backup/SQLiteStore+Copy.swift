package import Foundation
import GRDB
package import ScrollbackEngine
package import ScrollbackModel

/// What a store's file holds.
package struct StoreContents: Hashable, Codable, Sendable {
    package var schema: Int
    package var generation: UInt64
    package var conversations: Int64
    package var messages: Int64
}

extension SQLiteStore {
    /// How many pages of 4 KiB are copied between two reports.
    private static let pagesPerStep: CInt = 1_000

    /// Copies the store of a directory into a new file, as it is at one moment, whoever has it open and writes to it.
    ///
    /// The whole copy is read from one snapshot, so a busy writer neither waits for it nor makes it begin anew; the log of
    /// recent commits grows until it has ended (decision 13). The copy needs no file beside it.
    ///
    /// - Parameter progress: told bytes that are copied, and of how many.
    /// - Returns: what is in the copy.
    /// - Throws: `invalid-parameter` where there is no store, `storage-full` where there is no room for the copy.
    package static func copy(
        from directory: URL, to file: URL, progress: (_ done: Int64, _ total: Int64) -> Void
    ) throws(ChatError) -> StoreContents {
        let path = directory.appending(component: fileName).path
        guard access(directory.path, X_OK) == 0 || errno != EACCES else {
            throw .invalidParameter("data", "can't be read by this user (\(directory.path)): run this as the server's")
        }
        guard FileManager.default.fileExists(atPath: path) else {
            throw .invalidParameter("data", "has no store (\(path)): name a server's data directory")
        }
        return try translating("the store \(path) can't be read") {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(10)
            let source = try DatabaseQueue(path: path, configuration: configuration)
            let copy = try DatabaseQueue(path: file.path)
            try source.read { source in
                // The snapshot begins with the first thing that is read.
                _ = try schema(of: source)
                try copy.writeWithoutTransaction { copy in
                    try translating(on: copy, "\(file.path) can't be written") {
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

    /// The bytes that a store's file refers to, thumbnails too, in order.
    package static func blobs(of file: URL) throws(ChatError) -> [BlobID] {
        try translating("\(file.path) can't be read") {
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

    /// Gives a restored file its own random generation: devices notice that their positions are of another log.
    ///
    /// - Returns: what is in the file, with the new generation.
    package static func renewGeneration(of file: URL) throws(ChatError) -> StoreContents {
        try translating("\(file.path) can't be written") {
            let queue = try DatabaseQueue(path: file.path)
            try queue.write { database in
                try database.execute(
                    sql: "UPDATE meta SET value = ? WHERE name = 'generation'",
                    arguments: [Int64.random(in: .min ... .max)])
                // The bytes of uploads that were under way are not in a backup.
                if try schema(of: database) >= 2 { try database.execute(sql: "DELETE FROM upload") }
            }
            return try finish(queue)
        }
    }

    /// Reads what is in a copy, and makes it one file that can be read where nothing can be written.
    private static func finish(_ queue: DatabaseQueue) throws -> StoreContents {
        let found = try queue.writeWithoutTransaction { database in
            let found = try contents(of: database)
            // It says of itself that it has a log beside it, as the store does. That was read just now, so it can be left.
            try translating(on: database, "\(queue.path) can't be written") {
                guard try String.fetchOne(database, sql: "PRAGMA journal_mode = DELETE") == "delete" else {
                    throw ChatError(.internalError, "\(queue.path) is in use")
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
                "the store has schema \(schema), and this version knows schemas up to \(schemaVersion): use the newer "
                    + "version that wrote it")
        }
        return schema
    }

    private static func contents(of database: Database) throws -> StoreContents {
        func count(_ sql: String) throws -> Int64 { try Int64.fetchOne(database, sql: sql) ?? 0 }
        return StoreContents(
            schema: try schema(of: database),
            generation: UInt64(bitPattern: try count("SELECT value FROM meta WHERE name = 'generation'")),
            conversations: try count("SELECT count(*) FROM conversation WHERE NOT isDeleted"),
            messages: try count("SELECT count(*) FROM message"))
    }

    /// Runs what may fail in SQLite, with words that fit a copy.
    private static func translating<Answer>(
        on database: Database? = nil, _ what: String, _ body: () throws -> Answer
    ) throws(ChatError) -> Answer {
        do {
            return try body()
        } catch let error as ChatError {
            throw error
        } catch let error as DatabaseError {
            guard !error.isOutOfSpace(database) else {
                throw ChatError(.storageFull, "\(what): there is no room left", cause: error)
            }
            throw ChatError(.internalError, "\(what): \(error.message ?? "no reason given")", cause: error)
        } catch {
            throw ChatError(.internalError, what, cause: error)
        }
    }
}
