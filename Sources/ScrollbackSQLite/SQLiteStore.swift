package import Foundation
import GRDB
package import ScrollbackEngine
package import ScrollbackModel
package import StoreFiles
import Synchronization

/// A store in one SQLite file: what `write` returned from is on disk, and readers never wait for the writer.
///
/// The file is in WAL mode with `synchronous=FULL`, so a commit is one fsync. There is one writer and a pool of readers;
/// a second process (or a second store) on the same directory is refused.
package final class SQLiteStore: MessageStore {
    /// What can be set when a store is opened.
    package struct Options: Sendable {
        /// How many reads can run at once.
        package var readers = 4
        /// What the writer keeps of the file in memory, in MiB; each reader keeps an eighth of it.
        package var cacheMebibytes = 64
        /// After how many pages of 4 KiB the log of recent commits is moved into the file, while the writer waits.
        ///
        /// Many commits to the same conversations are written there once: over 1,000 conversations, 4,000 pages carried
        /// half as much again as SQLite's own 1,000; 20,000 a tenth more than that, with pauses half as long again.
        package var checkpointPages = 4_000
        /// Seal every text that is written; without them nothing is sealed, and a sealed store does not open.
        package var keys: StoreKeys?
        /// Whether what is there is to be sealed with the newest of them too; without it a store that is looked at stays as it is.
        package var adoptsKeys = true

        package init() {}
    }

    package static let fileName = "scrollback.sqlite"

    package let directory: URL
    package let generation: UInt64
    let pool: DatabasePool
    /// Seals and opens texts, where there are keys.
    let cipher: StoreCipher?
    private let lock: DirectoryLock
    private let state: Mutex<State>
    let connections = Mutex<[ObjectIdentifier: Connection]>([:])

    /// What the writer knows without asking the file; it changes only after a commit.
    private struct State {
        var moved: Int64
        var newest: Timetoken
        var isClosed = false
    }

    /// Opens the store in a directory, which is made if there is none.
    ///
    /// - Throws: `internal-error` when another process has it open, or when a newer version wrote it; `invalid-parameter`
    ///   when keys that it is sealed with are not among those given.
    package init(directory: URL, options: Options = Options()) throws {
        self.directory = directory
        cipher = options.keys.map { StoreCipher($0) }
        do {
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        } catch {
            throw ChatError(.internalError, "the directory \(directory.path) can't be made", cause: error)
        }
        lock = try DirectoryLock(directory, else: .internalError, "one server at a time may open it")
        let path = directory.appending(component: Self.fileName).path
        try Self.checkLength(of: path)
        do {
            pool = try DatabasePool(path: path, configuration: Self.configuration(options))
            try Self.migrate(pool, at: path)
            let start = try pool.writeWithoutTransaction { [cipher] database in
                // GRDB chooses NORMAL when it turns WAL on, which may lose the last commits with the power.
                try database.execute(sql: "PRAGMA synchronous = FULL")
                // Before the statements are kept: they go with what they are checked by.
                let connection = Connection(database, cipher: cipher)
                try Self.checkKeys(connection, options.keys)
                if options.adoptsKeys { try Self.adopt(options.keys, connection) }
                return try Self.start(database)
            }
            generation = start.generation
            state = Mutex(State(moved: start.moved, newest: start.newest))
        } catch let error as DatabaseError {
            let reason = error.message ?? "no reason given"
            throw error.chatError("the store \(path) can't be opened: \(reason)")
        }
    }

    deinit {
        try? close()
    }

    /// Refuses a file that was cut in the middle of a page, whose rest SQLite would read as zeros.
    ///
    /// Where commits wait in a log the file may have been left while it grew: they are written to it again.
    private static func checkLength(of path: String) throws {
        let count = size(of: path)
        guard count > 0, size(of: path + "-wal") == 0, size(of: path + "-journal") == 0 else { return }
        let file = FileHandle(forReadingAtPath: path)
        defer { try? file?.close() }
        // Two bytes at 16, where 1 stands for 65,536 (https://sqlite.org/fileformat.html#page_size).
        let header = [UInt8]((try? file?.read(upToCount: 18)) ?? Data())
        let page = header.count == 18 ? Int64(header[16]) << 8 | Int64(header[17]) : 0
        guard page > 0, count % (page == 1 ? 65_536 : page) == 0 else {
            throw ChatError(
                .internalError, "the store \(path) was cut: it ends in the middle of a page; restore it from a backup")
        }
    }

    private static func configuration(_ options: Options) -> Configuration {
        var configuration = Configuration()
        configuration.maximumReaderCount = options.readers
        configuration.persistentReadOnlyConnections = true
        configuration.foreignKeysEnabled = false
        // Only a backup or somebody's `sqlite3` shell can hold the file.
        configuration.busyMode = .timeout(10)
        configuration.label = "scrollback"
        configuration.prepareDatabase { database in
            let isReader = database.configuration.readonly
            // Counts before the first table is made: later the file could not be made smaller without writing all of it anew.
            if !isReader { try database.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL") }
            let cache = options.cacheMebibytes * 1024 / (isReader ? 8 : 1)
            try database.execute(sql: "PRAGMA cache_size = -\(cache)")
            try database.execute(sql: "PRAGMA temp_store = MEMORY")
            // What is removed, and what a sealed value is written over, is not left in the file's free places: whoever seals a
            // store later has sealed all of it.
            if !isReader { try database.execute(sql: "PRAGMA secure_delete = ON") }
            if !isReader { try database.execute(sql: "PRAGMA wal_autocheckpoint = \(options.checkpointPages)") }
        }
        return configuration
    }

    package var moved: Int64 { state.withLock { $0.moved } }
    package var newest: Timetoken { state.withLock { $0.newest } }

    package func read<Answer>(_ body: (any StoreReader) throws -> Answer) throws -> Answer {
        try readConnection { try body(SQLiteReader($0)) }
    }

    func readConnection<Answer>(_ body: (Connection) throws -> Answer) throws -> Answer {
        try checkOpen()
        return try translatingErrors {
            // Without GRDB's own transaction, whose statements are compiled anew each time.
            try pool.unsafeRead { database in
                let connection = connection(database)
                // How a snapshot ends changes nothing about what was read.
                defer { connection.rollBack() }
                return try translatingErrors(on: database, "the store could not be read") {
                    try connection.run(.beginRead)
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
                let commit = moved + 1
                let writer = SQLiteWriter(connection, commit: commit)
                // Does nothing once it is committed.
                defer { connection.rollBack() }
                let answer = try translatingErrors(on: database, "the store could not be written") {
                    try connection.run(.beginWrite)
                    let answer = try body(writer, commit)
                    try writer.finish()
                    try connection.run(.commit)
                    return answer
                }
                state.withLock { state in
                    state.moved = commit
                    state.newest = max(state.newest, writer.newest)
                }
                return answer
            }
        }
    }

    /// The prepared statements of one of the pool's connections.
    func connection(_ database: Database) -> Connection {
        connections.withLock { known in
            if let connection = known[ObjectIdentifier(database)] { return connection }
            let connection = Connection(database, cipher: cipher)
            known[ObjectIdentifier(database)] = connection
            return connection
        }
    }

    func checkOpen() throws {
        if state.withLock({ $0.isClosed }) { throw ChatError(.shuttingDown, "the store is closed") }
    }

    /// Waits for what is under way, moves the recent commits into the file, closes it, and refuses what is asked
    /// afterwards.
    ///
    /// Whoever copies the file then has all of it; where there is no room for that, the commits stay in the log beside it.
    package func close() throws {
        guard
            state.withLock({ state in
                defer { state.isClosed = true }
                return !state.isClosed
            })
        else { return }
        try translatingErrors {
            // Waiting for the writer and the readers first: a connection can't be closed while it has statements.
            try pool.barrierWriteWithoutTransaction { database in
                connections.withLock { $0.removeAll() }
                _ = try? database.checkpoint(.truncate)
            }
            try pool.close()
        }
        lock.release()
    }
}
