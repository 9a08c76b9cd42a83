package import Foundation
package import Logging
import ScrollbackEngine
import ScrollbackModel
import ScrollbackPostgres
import ScrollbackSQLite
import SQLiteSupport

/// Moves the messages of a data directory to a PostgreSQL database, and its files to an S3-compatible store.
///
/// It copies the files, and then the rows of each table in the order of their keys. An interrupted move therefore
/// continues after the last row that the database has. At the end, it reads every row back and compares it. The data
/// directory stays in use, without its messages.
package struct StoreMove: Sendable {
    /// The data directory.
    package var directory: URL
    /// The URL of the database.
    package var storeURL: String
    /// The URL of the bucket for files; `nil` to keep them in the data directory.
    package var filesURL: String?
    /// Whether to delete the copy of an interrupted move and begin again.
    package var restarts = false

    package init(of directory: URL, to storeURL: String, filesURL: String? = nil, restarts: Bool = false) {
        self.directory = directory
        self.storeURL = storeURL
        self.filesURL = filesURL
        self.restarts = restarts
    }

    package enum Step: String, Sendable {
        case copyingRows = "copying rows"
        case comparingRows = "comparing rows"
        case copyingFiles = "copying files"
    }

    /// Receives the number of rows or bytes that a step has processed, and their total.
    package typealias Progress = (_ step: Step, _ done: Int64, _ total: Int64) -> Void

    package struct Summary: Sendable {
        package var rows: Int64
        package var files: FileCopy.Summary?
        /// The file with the messages, which is not needed any more.
        package var oldFile: URL
    }

    private static let movedSuffix = ".moved"
    private static let pageLength = 500

    /// Moves everything.
    ///
    /// A cancelled move can be continued like an interrupted one.
    ///
    /// - Throws: `conflict` if a server uses the data directory. `invalid-parameter` naming `data`, `store` or `files`
    ///   if one of them can't be used. `internal-error` if a row of the copy differs.
    package func run(logger: Logger, progress: Progress = { _, _, _ in }) async throws -> Summary {
        let file = try checkSource()
        let store = try SQLiteStore(directory: directory, options: Self.sourceOptions)
        defer { try? store.close() }
        var options = PostgresStore.Options()
        options.opensIncompleteCopy = true
        // The server checks this when it starts.
        options.allowsAsynchronousStandbys = true
        let target = try PostgresStore(PostgresURL(storeURL), options: options)
        defer { target.close() }
        let bucket = try await bucket(logger: logger)
        let tables = try StoredTable.pairs(store.storedTables(), with: target.storedTables())
        let copies = tables.map(\.other)
        var summary = Summary(
            rows: try store.storedRowCount(), oldFile: URL(filePath: file.path + Self.movedSuffix))
        // A move that was interrupted at its end has a complete copy.
        let isComplete =
            try DirectoryMarker.postgres.exists(in: directory) && target.isCompleteCopy(of: store.storedState)
        if !isComplete { try target.beginCopy(to: copies, of: store.storedState, restarts: restarts) }
        if let bucket { summary.files = try await copyFiles(to: bucket, progress) }
        if !isComplete {
            try copy(tables, of: store, to: target, total: summary.rows, progress)
            try target.syncCopy()
            try compare(tables, of: store, with: target, total: summary.rows, progress)
        }
        // From here on, a server starts on this directory only with the database and the bucket.
        if let bucket { try DirectoryMarker.s3.create(in: directory, naming: bucket.location.name) }
        try DirectoryMarker.postgres.create(in: directory)
        if !isComplete {
            try target.finishCopy(to: copies, lastNumbers: store.lastNumbers(), keepsUploads: bucket == nil)
        }
        try store.close()
        try setAside(file, as: summary.oldFile)
        return summary
    }

    /// Renames the file with the messages, which has all of them after its store was closed.
    private func setAside(_ file: URL, as old: URL) throws {
        let log = file.path + "-wal"
        let attributes = try? FileManager.default.attributesOfItem(atPath: log)
        guard attributes?[.size] as? Int ?? 0 == 0 else {
            throw ChatError(.internalError, "Can't move \(file.path), because its write-ahead log \(log) is not empty.")
        }
        for suffix in ["-wal", "-shm"] { unlink(file.path + suffix) }
        try DurableFile.rename(file, to: old)
        try DurableFile.sync(directory)
    }

    private static var sourceOptions: SQLiteStore.Options {
        var options = SQLiteStore.Options()
        options.reencryptsExistingRows = false
        return options
    }

    /// Returns the file with the messages.
    private func checkSource() throws -> URL {
        let file = directory.appending(component: SQLiteStore.fileName)
        try Backup.checkIsDataDirectory(directory)
        guard let found = try SQLiteStore.inspect(directory) else {
            let isMoved = FileManager.default.fileExists(atPath: file.path + Self.movedSuffix)
            throw ChatError.invalidParameter(
                "data",
                isMoved
                    ? "was moved already (\(directory.path)). Start the server with --store"
                    : "has no store (\(file.path)); pass a server's data directory")
        }
        guard found.keys.isEmpty, !found.isReencrypting else {
            throw ChatError.invalidParameter(
                "data",
                "is encrypted (\(directory.path)), but a PostgreSQL store does not encrypt texts. Decrypt it first, as "
                    + "Documentation/operations.md describes, and encrypt the volume of the database")
        }
        return file
    }

    // MARK: Rows

    private typealias TablePair = (table: StoredTable, other: StoredTable)

    private func copy(
        _ tables: [TablePair], of source: SQLiteStore, to target: PostgresStore, total: Int64, _ progress: Progress
    ) throws {
        var done = try target.storedRowCount(of: tables.map(\.other))
        progress(.copyingRows, done, total)
        for (table, copied) in tables {
            var last = try target.lastKey(of: copied)
            while true {
                try Task.checkCancellation()
                let rows = try source.storedRows(of: table, after: last, limit: Self.pageLength)
                guard let newest = rows.last else { break }
                try target.append(rows, to: copied)
                last = table.key(of: newest)
                done += Int64(rows.count)
                progress(.copyingRows, done, total)
            }
        }
    }

    /// Reads all rows of both stores and compares them.
    private func compare(
        _ tables: [TablePair], of source: SQLiteStore, with target: PostgresStore, total: Int64, _ progress: Progress
    ) throws {
        var done: Int64 = 0
        for (table, copied) in tables {
            var last: [StoredValue]?
            repeat {
                let expected = try source.storedRows(of: table, after: last, limit: Self.pageLength)
                let found = try target.storedRows(of: copied, after: last, limit: Self.pageLength)
                guard expected == found else {
                    throw ChatError(
                        .internalError,
                        "A row of the table \(table.name) differs from its copy. If a server used the data directory "
                            + "since the first attempt to move it, pass --restart.")
                }
                last = expected.last.map { table.key(of: $0) }
                done += Int64(expected.count)
                progress(.comparingRows, done, total)
            } while last != nil
        }
    }

    // MARK: Files

    private func bucket(logger: Logger) async throws -> S3Client? {
        guard let filesURL else { return nil }
        let location = try S3Location(filesURL)
        // An interrupted move may have created the marker.
        guard [nil, location.name].contains(DirectoryMarker.s3.place(in: directory)) else {
            throw ChatError.invalidParameter(
                "files", "is not needed: the files of \(directory.path) are in another S3 store already")
        }
        let client = S3Client(
            location, try S3Credentials(environment: ProcessInfo.processInfo.environment),
            logger: logger)
        try await client.check()
        return client
    }

    private func copyFiles(to bucket: S3Client, _ progress: Progress) async throws -> FileCopy.Summary {
        let pool = ReaderPool(threads: 2, maximumOwnCount: 1)
        pool.start()
        do {
            let summary = try await copyFiles(to: bucket, on: FileThreads(pool), progress)
            try await pool.shutdown()
            return summary
        } catch {
            try? await pool.shutdown()
            throw error
        }
    }

    private func copyFiles(
        to bucket: S3Client, on threads: FileThreads, _ progress: Progress
    ) async throws -> FileCopy.Summary {
        let own = try DiskMediaStore(in: directory, threads: threads)
        // A store of files in S3 has files of its own while it writes.
        let temporary = directory.appending(component: "move.temporary")
        try PrivateFiles.createDirectory(temporary)
        defer { try? FileManager.default.removeItem(at: temporary) }
        let target = try S3MediaStore(bucket, in: temporary, threads: threads)
        let blobs = try SQLiteStore.blobs(of: directory.appending(component: SQLiteStore.fileName))
        return try await FileCopy(of: own, to: target).run(blobs) { progress(.copyingFiles, $0, $1) }
    }
}
