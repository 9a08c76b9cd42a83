package import Foundation
import GRDB
package import ScrollbackModel
import ScrollbackSearch
import ScrollbackWords
package import StoreFiles
import Synchronization

/// What one device keeps of one user's conversations: messages, gaps, the outbox, read state.
///
/// Everything that reaches it about a log is applied by ``LogState`` inside the transaction that saves the result, so rows,
/// gaps and cursor never disagree, wherever the process is killed.
package final class LocalStore: Sendable {
    let database: any DatabaseWriter
    private let lock: DirectoryLock?
    private let hasClosed = Atomic<Bool>(false)
    package let user: UserID
    /// Opens messages for whoever reads them: they lie here as they travel.
    package let sealing: MessageSealing
    /// Seals what lies here.
    let cipher: StoreCipher?
    /// Where its files are; nothing in memory.
    let directory: URL?
    /// The files of messages; those of a store in memory are gone with it.
    package let files: LocalFiles
    /// An element after transactions that changed something: many while nobody looks are one.
    let writes: AsyncStream<Void>
    private let written: AsyncStream<Void>.Continuation
    /// What transactions do to the list of recents.
    let recentsEvents: EventCenter<RecentsEvent>
    /// Touched by the one connection that writes.
    private let watchesRecents = Atomic<Bool>(false)
    /// What was unread in all after the last transaction that events told of.
    private let toldTotals = Mutex<UnreadTotals?>(nil)

    /// Opens the store in a directory, or in memory without one.
    ///
    /// - Parameters:
    ///   - keys: that it is sealed with.
    ///   - keysName: what an error calls them.
    ///   - adoptsKeys: whether everything is to be sealed with the newest from now on.
    /// - Throws: `local-storage` when it can't be opened, somebody has it open, it is another user's, or a newer version
    ///   wrote it; `invalid-parameter` when keys that it is sealed with are not among those given.
    package init(
        directory: URL?, user: UserID, eventCapacity: Int = 1_000, cipher: MessageCipher? = nil,
        keys: StoreKeys? = nil, keysName: String = "storeEncryption", adoptsKeys: Bool = true
    ) throws(ChatError) {
        self.user = user
        sealing = MessageSealing(user: user, cipher: cipher)
        self.cipher = keys.map { StoreCipher($0, as: .blob, damage: .localStorage) }
        recentsEvents = EventCenter(capacity: eventCapacity) { .missed($0) }
        self.directory = directory
        files = LocalFiles(
            directory: directory?.appending(path: Self.filesName)
                ?? FileManager.default.temporaryDirectory.appending(path: "scrollback-\(UUID().uuidString)"))
        (writes, written) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        do {
            var configuration = Configuration()
            configuration.label = "scrollback.store"
            configuration.prepareDatabase { db in
                try db.execute(sql: "PRAGMA synchronous = NORMAL")
                try db.execute(sql: "PRAGMA temp_store = MEMORY")
                // What is deleted is not left in the file's free places.
                if !db.configuration.readonly { try db.execute(sql: "PRAGMA secure_delete = ON") }
            }
            configuration.busyMode = .timeout(5)
            if let directory {
                try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
                lock = try DirectoryLock(directory, else: .localStorage, "one client at a time may open it")
                database = try DatabasePool(
                    path: directory.appending(path: Self.fileName).path, configuration: configuration)
            } else {
                lock = nil
                database = try DatabaseQueue(configuration: configuration)
            }
            try Self.migrator.migrate(database)
            try database.write { db in
                try checkOwner(db)
                let reader = reader(of: db)
                try reader.checkKeys(name: keysName)
                if adoptsKeys { try LocalWriter(reader: reader).adoptKeys() }
            }
            if let directory, isSealed, adoptsKeys { try SearchIndex.erase(in: directory) }
        } catch let error as ChatError {
            throw error
        } catch {
            throw ChatError(.localStorage, "the local store can't be opened", cause: error)
        }
    }

    private func checkOwner(_ db: Database) throws {
        let owner = try String.fetchOne(db, sql: "SELECT value FROM meta WHERE key = 'user'")
        if let owner, owner != user.text {
            throw ChatError(.localStorage, "the local store belongs to another user: give each user a directory")
        }
        try db.execute(sql: "INSERT OR REPLACE INTO meta VALUES ('user', ?)", arguments: [user.text])
    }

    private func reader(of db: Database) -> LocalReader {
        LocalReader(db: db, user: user, sealing: sealing, cipher: cipher)
    }

    /// Opens a store that is there already, whoever it belongs to; nothing where there is none.
    ///
    /// - Parameter keys: that it is sealed with; it stays as it is.
    package static func existing(in directory: URL, keys: StoreKeys? = nil) throws -> LocalStore? {
        let file = directory.appending(path: fileName)
        guard FileManager.default.fileExists(atPath: file.path) else { return nil }
        let owner = try DatabaseQueue(path: file.path).read { db in
            try String.fetchOne(db, sql: "SELECT value FROM meta WHERE key = 'user'")
        }
        guard let owner else { return nil }
        return try LocalStore(
            directory: directory, user: UserID(owner), keys: keys, keysName: "store-keys", adoptsKeys: false)
    }

    private static let fileName = "client.sqlite"
    private static let filesName = "files"

    package func close() throws {
        hasClosed.store(true, ordering: .releasing)
        written.finish()
        try database.close()
        if directory == nil { files.removeAll() }
        lock?.release()
    }

    /// Removes a store's files.
    package static func erase(_ directory: URL) throws {
        try SearchIndex.erase(in: directory)
        for name in [filesName, fileName, fileName + "-wal", fileName + "-shm", DirectoryLock.fileName] {
            let file = directory.appending(path: name)
            if FileManager.default.fileExists(atPath: file.path) { try FileManager.default.removeItem(at: file) }
        }
    }

    // MARK: Transactions

    /// Reads one snapshot.
    ///
    /// On a thread of the concurrency pool and not on one of GRDB's: a page takes a tenth of a millisecond, and going to
    /// another thread and back takes as long. On disk it never waits for a writer; in memory there is one queue for all.
    @concurrent package func read<Answer: Sendable>(
        _ body: @Sendable (LocalReader) throws -> Answer
    ) async throws(ChatError) -> Answer {
        do {
            return try readSynchronously(body)
        } catch {
            throw self.failure(error)
        }
    }

    private func readSynchronously<Answer>(_ body: (LocalReader) throws -> Answer) throws -> Answer {
        try database.unsafeRead { db in
            try Self.checkOpen(db)
            var answer: Result<Answer, any Error>?
            try db.inTransaction(.deferred) {
                answer = .success(try body(reader(of: db)))
                return .commit
            }
            return try (answer ?? .failure(ClientCore.closed)).get()
        }
    }

    /// GRDB lends out a connection that was closed meanwhile, and SQLite crashes on it.
    private static func checkOpen(_ db: Database) throws(ChatError) {
        if db.sqliteConnection == nil { throw ClientCore.closed }
    }

    /// Changes in one transaction.
    ///
    /// A task that is cancelled meanwhile does not undo it: whoever waits for a transaction hears how it went.
    ///
    /// - Parameters:
    ///   - scope: what it reads of the list of recents, if that is what it is about.
    ///   - tellsRecents: whether events say what it did to the list.
    package func write<Answer: Sendable>(
        reading scope: RecentsEvent.ReadScope? = nil, tellsRecents: Bool = true,
        _ body: @escaping @Sendable (LocalWriter) throws -> Answer
    ) async throws(ChatError) -> Answer {
        defer { written.yield() }
        let result: Result<Answer, ChatError> = await withCheckedContinuation { continuation in
            database.asyncWriteWithoutTransaction { db in
                var answer: Result<Answer, ChatError> = .failure(ClientCore.closed)
                do {
                    try Self.checkOpen(db)
                    var events: [RecentsEvent] = []
                    let isWatched = self.recentsEvents.isObserved
                    if isWatched != self.watchesRecents.load(ordering: .relaxed) {
                        try isWatched ? Self.watchRecents(db) : Self.stopWatchingRecents(db)
                        self.watchesRecents.store(isWatched, ordering: .relaxed)
                        self.toldTotals.withLock { $0 = nil }
                    }
                    var told = self.toldTotals.withLock { $0 }
                    let changesBefore = db.totalChangesCount
                    try db.inTransaction(.immediate) {
                        let reader = self.reader(of: db)
                        if isWatched, told == nil { told = try reader.totals() }
                        answer = .success(try body(LocalWriter(reader: reader)))
                        if isWatched { events = try Self.recentsEvents(reader, scope: scope, told: &told) }
                        return .commit
                    }
                    self.toldTotals.withLock { $0 = told }
                    // Whoever began to take events meanwhile may have read the list as it was before.
                    if !isWatched, db.totalChangesCount != changesBefore, self.recentsEvents.isObserved {
                        events = [.missed(1)]
                    }
                    if tellsRecents { for event in events { self.recentsEvents.send(event) } }
                } catch {
                    answer = .failure(self.failure(error))
                }
                continuation.resume(returning: answer)
            }
        }
        return try result.get()
    }

    func failure(_ error: any Error) -> ChatError {
        if let error = error as? ChatError { return error }
        if hasClosed.load(ordering: .acquiring) { return ClientCore.closed }
        return ChatError(.localStorage, "the local store failed", cause: error)
    }
}

/// The questions asked of one snapshot.
package struct LocalReader {
    let db: Database
    let user: UserID
    /// Opens the messages that are read; nothing leaves them as they lie in the store.
    var sealing: MessageSealing?
    /// Opens and seals what lies in the store.
    var cipher: StoreCipher?

    /// The same questions, answered with messages as they lie in the store.
    var asStored: LocalReader {
        var reader = self
        reader.sealing = nil
        return reader
    }

    /// A conversation's short name in the store.
    func number(of id: ConversationID) throws -> Int64? {
        try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT number FROM conversation WHERE id = ?"), arguments: [id.description])
    }
}

/// A transaction under way.
package struct LocalWriter {
    let reader: LocalReader
    var db: Database { reader.db }
    var user: UserID { reader.user }

    init(reader: LocalReader) {
        self.reader = reader
    }

    /// A conversation's short name, given now if it has none.
    func number(of id: ConversationID) throws -> Int64 {
        if let number = try reader.number(of: id) { return number }
        try db.cachedStatement(sql: "INSERT INTO conversation (id, kind) VALUES (?, ?)")
            .execute(arguments: [id.description, id.kind.rawValue])
        return db.lastInsertedRowID
    }
}
