import CSQLiteOptions
package import Foundation
import GRDB
package import ScrollbackEngine
package import ScrollbackModel
package import SQLiteSupport
import Synchronization

/// A store in one SQLite file.
///
/// When `write` returns, the commit is on disk. Readers never wait for the writer. The file is in WAL mode with
/// `synchronous=FULL`, so a commit is one fsync. The store has one writer and a pool of readers. A second process or
/// store in the same directory is rejected.
package final class SQLiteStore: MessageStore {
    /// The options for opening a store.
    package struct Options: Sendable {
        /// The maximum number of concurrent reads.
        package var readers = 4
        /// The size of the writer's page cache in MiB; each reader's cache has an eighth of it.
        package var cacheMebibytes = 64
        /// The number of 4 KiB pages after which the writer checkpoints the write-ahead log.
        ///
        /// A checkpoint writes several commits to the same pages only once. With 1,000 conversations, 4,000 pages gave
        /// half as much throughput again as SQLite's default of 1,000. With 20,000 pages it was another tenth higher,
        /// with pauses half as long again.
        package var checkpointPages = 4_000
        /// The keys of storage encryption; `nil` for none.
        ///
        /// With keys, the store encrypts all texts that it writes. An encrypted store does not open without its keys.
        package var keys: StoreKeys?
        /// Whether to also re-encrypt existing rows with the newest key; `false` for tools that only inspect a store.
        package var reencryptsExistingRows = true

        package init() {}
    }

    package static let fileName = "scrollback.sqlite"

    package let directory: URL
    let pool: DatabasePool
    /// The cipher for texts; `nil` without keys.
    let cipher: StoreCipher?
    private let lock: DirectoryLock
    private let state: Mutex<State>
    let readers: ReaderConnections
    /// The cached statements of the writer.
    let writerConnection = Mutex<SQLiteConnection?>(nil)

    /// Options of SQLite that apply to the whole process, set before the first store opens.
    ///
    /// Sends take 4 % less CPU time.
    private static let setProcessOptions: Void = sqlite_options_disable_memory_statistics()

    /// The writer's state in memory, which changes only after a commit.
    private struct State {
        var lastCommit: Int64
        var newest: Timetoken
        var generation: UInt64
        var isClosed = false
    }

    /// Opens the store in a directory, which is created if necessary.
    ///
    /// - Throws: `internal-error` if another process has the store open or a newer version wrote it;
    ///   `invalid-parameter` if keys of the encrypted store are missing.
    package init(directory: URL, options: Options = Options()) throws {
        Self.setProcessOptions
        self.directory = directory
        cipher = options.keys.map { StoreCipher($0) }
        do {
            try PrivateFiles.createDirectory(directory)
        } catch {
            throw ChatError(.internalError, "The directory \(directory.path) can't be created.", cause: error)
        }
        lock = try DirectoryLock(directory, errorCode: .conflict, "only one server can open it at a time")
        let file = directory.appending(component: Self.fileName)
        let path = file.path
        try PrivateFiles.createFile(file, errorCode: .internalError)
        try Self.checkLength(of: path)
        do {
            pool = try DatabasePool(path: path, configuration: Self.configuration(options))
            try Self.migrate(pool, at: path)
            let start = try pool.writeWithoutTransaction { [cipher] database in
                // GRDB sets NORMAL when it turns on WAL, which can lose the last commits in a power failure.
                try database.execute(sql: "PRAGMA synchronous = FULL")
                // Check the keys before statements are cached, because the check itself uses this temporary connection.
                let connection = SQLiteConnection(database, cipher: cipher)
                try Self.checkKeys(connection, options.keys)
                if options.reencryptsExistingRows { try Self.startReencryption(with: options.keys, connection) }
                return try Self.loadState(database)
            }
            readers = ReaderConnections(maximumCount: options.readers) { [cipher] in
                var configuration = Self.configuration(options)
                configuration.readonly = true
                let queue = try DatabaseQueue(path: path, configuration: configuration)
                return (queue, queue.unsafeRead { SQLiteConnection($0, cipher: cipher) })
            }
            state = Mutex(
                State(lastCommit: start.lastCommit, newest: start.newest, generation: start.generation))
        } catch let error as DatabaseError {
            let reason = error.message ?? "no reason"
            throw error.chatError("The store \(path) can't be opened: \(reason).")
        }
    }

    deinit {
        try? close()
    }

    /// Rejects a file that was truncated in the middle of a page, whose rest SQLite would read as zeros.
    ///
    /// If the write-ahead log has commits, the file may have been growing; these commits are written to it again.
    private static func checkLength(of path: String) throws {
        let count = size(of: path)
        guard count > 0, size(of: path + "-wal") == 0, size(of: path + "-journal") == 0 else { return }
        let file = FileHandle(forReadingAtPath: path)
        defer { try? file?.close() }
        // The page size: two bytes at offset 16, where 1 stands for 65,536
        // (https://sqlite.org/fileformat.html#page_size).
        let header = [UInt8]((try? file?.read(upToCount: 18)) ?? Data())
        let page = header.count == 18 ? Int64(header[16]) << 8 | Int64(header[17]) : 0
        guard page > 0, count % (page == 1 ? 65_536 : page) == 0 else {
            throw ChatError(
                .internalError, "The store \(path) was truncated in the middle of a page. Restore it from a backup.")
        }
    }

    private static func configuration(_ options: Options) -> Configuration {
        var configuration = Configuration()
        // Only migrations read through the pool. See ``ReaderConnections``.
        configuration.maximumReaderCount = 1
        configuration.foreignKeysEnabled = false
        // Only a backup or a `sqlite3` shell can lock the file.
        configuration.busyMode = .timeout(10)
        configuration.label = "scrollback"
        configuration.prepareDatabase { database in
            let isReader = database.configuration.readonly
            // This must be set before the first table is created; a later change would require rewriting the whole
            // file.
            if !isReader { try database.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL") }
            let cache = options.cacheMebibytes * 1024 / (isReader ? 8 : 1)
            try database.execute(sql: "PRAGMA cache_size = -\(cache)")
            try database.execute(sql: "PRAGMA temp_store = MEMORY")
            // Overwrite deleted data and replaced values, so that a store that is encrypted later contains no old plain
            // text.
            if !isReader { try database.execute(sql: "PRAGMA secure_delete = ON") }
            if !isReader { try database.execute(sql: "PRAGMA wal_autocheckpoint = \(options.checkpointPages)") }
        }
        return configuration
    }

    package var lastCommit: Int64 { state.withLock { $0.lastCommit } }
    package var newest: Timetoken { state.withLock { $0.newest } }
    package var generation: UInt64 { state.withLock { $0.generation } }

    package func read<Answer>(_ body: (any StoreReader) throws -> Answer) throws -> Answer {
        try readConnection { try body(SQLiteReader($0)) }
    }

    func readConnection<Answer>(_ body: (SQLiteConnection) throws -> Answer) throws -> Answer {
        try checkOpen()
        return try translatingErrors {
            try readers.read { connection in
                // The end of a snapshot can't affect its results.
                defer { connection.rollBack() }
                return try translatingErrors(on: connection.database, "The store could not be read.") {
                    try connection.run(SQLiteConnection.beginRead)
                    return try body(connection)
                }
            }
        }
    }

    package func write<Answer>(_ body: (any StoreWriter, _ commit: Int64) throws -> Answer) throws -> Answer {
        try checkOpen()
        return try translatingErrors {
            try pool.writeWithoutTransaction { database in
                let connection = connection(database)
                let commit = lastCommit + 1
                let writer = SQLiteWriter(connection, commit: commit)
                // Has no effect after a commit.
                defer { connection.rollBack() }
                let answer = try translatingErrors(on: database, "The store could not be written.") {
                    try connection.run(SQLiteConnection.beginWrite)
                    let answer = try body(writer, commit)
                    try writer.finish()
                    try connection.run(SQLiteConnection.commit)
                    return answer
                }
                state.withLock { state in
                    state.lastCommit = commit
                    state.newest = max(state.newest, writer.newest)
                    if let generation = writer.generation { state.generation = generation }
                }
                return answer
            }
        }
    }

    /// Runs a transaction that is not a commit of the engine.
    func writing<Answer>(_ body: (SQLiteConnection) throws -> Answer) throws -> Answer {
        try checkOpen()
        return try translatingErrors {
            try pool.writeWithoutTransaction { database in
                let connection = connection(database)
                defer { connection.rollBack() }
                return try translatingErrors(on: database, "The store could not be written.") {
                    try connection.run(SQLiteConnection.beginWrite)
                    let answer = try body(connection)
                    try connection.run(SQLiteConnection.commit)
                    return answer
                }
            }
        }
    }

    /// Returns the cached statements of the writer.
    func connection(_ writer: Database) -> SQLiteConnection {
        writerConnection.withLock { known in
            if let known { return known }
            let connection = SQLiteConnection(writer, cipher: cipher)
            known = connection
            return connection
        }
    }

    func checkOpen() throws {
        if state.withLock({ $0.isClosed }) { throw ChatError(.shuttingDown, "The store is closed.") }
    }

    /// Waits for running operations, checkpoints the write-ahead log, and closes the store.
    ///
    /// Later operations fail. After a checkpoint, a copy of the file is complete. Without enough disk space for the
    /// checkpoint, the commits stay in the write-ahead log.
    package func close() throws {
        guard
            state.withLock({ state in
                defer { state.isClosed = true }
                return !state.isClosed
            })
        else { return }
        try translatingErrors {
            try readers.close()
            // Wait for the writer first: a connection with open statements can't be closed.
            try pool.barrierWriteWithoutTransaction { database in
                writerConnection.withLock { $0 = nil }
                _ = try? database.checkpoint(.truncate)
            }
            try pool.close()
        }
        lock.release()
    }
}
