package import Foundation
import GRDB
package import ScrollbackModel
import ScrollbackSearch
import TextAnalysis
package import SQLiteSupport
import Synchronization

/// The local database of one user on one device: messages, gaps, the outbox, and read state.
///
/// ``LogState`` applies every update to a log inside the transaction that saves the result. Rows, gaps and cursor
/// therefore stay consistent, even if the process is killed.
package final class LocalStore: Sendable {
    let database: any DatabaseWriter
    private let lock: DirectoryLock?
    private let hasClosed = Atomic<Bool>(false)
    /// Whether ``close(reading:)`` has read the final state.
    private let refusesWrites = Atomic<Bool>(false)
    package let user: UserID
    /// Decrypts messages for readers; the store holds them as they were transmitted.
    package let messageEncryption: MessageEncryption
    /// Encrypts the store's texts at rest.
    let cipher: StoreCipher?
    /// The directory of the store's files; `nil` for a store in memory.
    let directory: URL?
    /// The cached files of messages; a store in memory deletes them when it closes.
    package let files: LocalFiles
    /// Yields an element after transactions, coalesced while the consumer is busy.
    let writes: AsyncStream<Void>
    private let written: AsyncStream<Void>.Continuation
    /// Events about changes that transactions make to the list of recent conversations.
    let recentsEvents: EventCenter<RecentsEvent>
    /// Whether the triggers for `recentsEvents` are installed; used only by the writer connection.
    private let watchesRecents = Atomic<Bool>(false)
    private let checkpoint = Mutex(NotedCheckpoint())
    /// The unread totals after the last transaction for which events were sent.
    private let notifiedTotals = Mutex<UnreadTotals?>(nil)

    /// Opens the store in a directory, or in memory if `directory` is `nil`.
    ///
    /// - Parameters:
    ///   - keys: The keys that the store is encrypted with.
    ///   - keysName: The name of the keys in error messages.
    ///   - reencryptsExistingRows: Whether to encrypt the whole store with the newest key from now on.
    /// - Throws: `local-storage` if the store can't be opened, is already open, belongs to another user, or was written
    ///   by a newer version. `invalid-parameter` if keys that the store is encrypted with are missing.
    package init(
        directory: URL?, user: UserID, eventCapacity: Int = 1_000, cipher: MessageCipher? = nil,
        keys: StoreKeys? = nil, keysName: String = "storeEncryption", reencryptsExistingRows: Bool = true
    ) throws(ChatError) {
        self.user = user
        messageEncryption = MessageEncryption(user: user, cipher: cipher)
        self.cipher = keys.map { StoreCipher($0, as: .blob, errorCode: .localStorage) }
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
                // Overwrite deleted data in the file with zeros.
                if !db.configuration.readonly { try db.execute(sql: "PRAGMA secure_delete = ON") }
            }
            configuration.busyMode = .timeout(5)
            if let directory {
                try PrivateFiles.createDirectory(directory)
                _ = try PrivateFiles.restrict(directory, errorCode: .localStorage)
                try PrivateFiles.createFile(directory.appending(path: Self.fileName), errorCode: .localStorage)
                lock = try DirectoryLock(directory, errorCode: .localStorage, "only one client can open it at a time")
                database = try DatabasePool(
                    path: directory.appending(path: Self.fileName).path, configuration: configuration)
            } else {
                lock = nil
                database = try DatabaseQueue(configuration: configuration)
            }
            guard try !database.read(Self.migrator.hasBeenSuperseded) else {
                throw ChatError(
                    .localStorage,
                    "The local store was written by a newer version of the SDK. Update the app, or erase the store.")
            }
            try Self.migrator.migrate(database, creatingIfEmpty: Self.createNewestTables)
            try database.write { db in
                try checkOwner(db)
                let reader = reader(of: db)
                try reader.checkKeys(name: keysName)
                if reencryptsExistingRows { try LocalWriter(reader: reader).adoptKeys() }
            }
            if let directory, isEncrypted, reencryptsExistingRows { try SearchIndex.erase(in: directory) }
        } catch let error as ChatError {
            throw error
        } catch {
            throw ChatError(.localStorage, "The local store can't be opened.", cause: error)
        }
    }

    private func checkOwner(_ db: Database) throws {
        let owner = try String.fetchOne(db, sql: "SELECT value FROM meta WHERE key = 'user'")
        if let owner, owner != user.text {
            throw ChatError(
                .localStorage, "The local store belongs to another user. Use a separate directory for each user.")
        }
        try db.execute(sql: "INSERT OR REPLACE INTO meta VALUES ('user', ?)", arguments: [user.text])
    }

    private func reader(of db: Database) -> LocalReader {
        LocalReader(db: db, user: user, messageEncryption: messageEncryption, cipher: cipher)
    }

    /// Opens an existing store of any user; returns `nil` if the directory has none.
    ///
    /// - Parameter keys: The keys that the store is encrypted with. The store's encryption does not change.
    package static func existing(in directory: URL, keys: StoreKeys? = nil) throws -> LocalStore? {
        let file = directory.appending(path: fileName)
        guard FileManager.default.fileExists(atPath: file.path) else { return nil }
        let owner = try DatabaseQueue(path: file.path).read { db in
            try String.fetchOne(db, sql: "SELECT value FROM meta WHERE key = 'user'")
        }
        guard let owner else { return nil }
        return try LocalStore(
            directory: directory, user: UserID(owner), keys: keys, keysName: "store-keys", reencryptsExistingRows: false
        )
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

    /// Reads the store's final state, and closes the store even if the read fails.
    ///
    /// Writes that began before are included, and later ones fail with `closed`.
    func close<Answer: Sendable>(
        reading body: @escaping @Sendable (LocalReader) throws -> Answer
    ) async throws(ChatError) -> Answer {
        defer { try? close() }
        return try await write(notifiesRecents: false) { writer in
            let answer = try body(writer.reader)
            self.refusesWrites.store(true, ordering: .releasing)
            return answer
        }
    }

    /// Deletes a store's files.
    package static func erase(_ directory: URL) throws {
        try SearchIndex.erase(in: directory)
        for name in [filesName, fileName, fileName + "-wal", fileName + "-shm", DirectoryLock.fileName] {
            let file = directory.appending(path: name)
            if FileManager.default.fileExists(atPath: file.path) { try FileManager.default.removeItem(at: file) }
        }
    }

    // MARK: Transactions

    /// Reads from one snapshot of the database.
    ///
    /// The read runs on a thread of the concurrency pool instead of a GRDB thread. Reading a page takes about 0.1 ms,
    /// and switching threads twice takes as long. A store on disk never waits for a writer; a store in memory has one
    /// queue for all accesses.
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
            let reader = reader(of: db)
            // GRDB's own transactions compile both statements each time.
            try reader.run("BEGIN DEFERRED")
            do {
                let answer = try body(reader)
                try reader.run("COMMIT")
                return answer
            } catch {
                try? reader.run("ROLLBACK")
                throw error
            }
        }
    }

    /// GRDB can hand out a connection that was closed in the meantime, and SQLite crashes on it.
    private static func checkOpen(_ db: Database) throws(ChatError) {
        if db.sqliteConnection == nil { throw ClientCore.closed }
    }

    /// Runs `body` in one write transaction.
    ///
    /// Cancelling the waiting task does not roll back the transaction: the caller always gets its result.
    ///
    /// - Parameters:
    ///   - scope: The conversations that the transaction marks as read, for ``RecentsEvent/read(_:totalUnread:)``.
    ///   - notifiesRecents: Whether to send events about changes to the list of recent conversations.
    package func write<Answer: Sendable>(
        reading scope: RecentsEvent.ReadScope? = nil, notifiesRecents: Bool = true,
        _ body: @escaping @Sendable (LocalWriter) throws -> Answer
    ) async throws(ChatError) -> Answer {
        defer { written.yield() }
        let result: Result<Answer, ChatError> = await withCheckedContinuation { continuation in
            database.asyncWriteWithoutTransaction { db in
                var answer: Result<Answer, ChatError> = .failure(ClientCore.closed)
                do {
                    try Self.checkOpen(db)
                    if self.refusesWrites.load(ordering: .acquiring) { throw ClientCore.closed }
                    var events: [RecentsEvent] = []
                    let isWatched = self.recentsEvents.isObserved
                    if isWatched != self.watchesRecents.load(ordering: .relaxed) {
                        try isWatched ? Self.installRecentsTriggers(db) : Self.removeRecentsTriggers(db)
                        self.watchesRecents.store(isWatched, ordering: .relaxed)
                        self.notifiedTotals.withLock { $0 = nil }
                    }
                    var lastTotals = self.notifiedTotals.withLock { $0 }
                    let changesBefore = db.totalChangesCount
                    let checkpoint = self.checkpoint.withLock { $0.unstored }
                    try db.inTransaction(.immediate) {
                        let reader = self.reader(of: db)
                        if isWatched, lastTotals == nil { lastTotals = try reader.totals() }
                        let writer = LocalWriter(reader: reader)
                        answer = .success(try body(writer))
                        if let checkpoint { try writer.save(checkpoint: checkpoint) }
                        if isWatched { events = try Self.recentsEvents(reader, scope: scope, lastTotals: &lastTotals) }
                        return .commit
                    }
                    self.notifiedTotals.withLock { $0 = lastTotals }
                    if let checkpoint { self.checkpoint.withLock { $0.stored = checkpoint } }
                    // A consumer that subscribed during the transaction may have read the list as it was before.
                    if !isWatched, db.totalChangesCount != changesBefore, self.recentsEvents.isObserved {
                        events = [.missed(1)]
                    }
                    if notifiesRecents { for event in events { self.recentsEvents.send(event) } }
                } catch {
                    answer = .failure(self.failure(error))
                }
                continuation.resume(returning: answer)
            }
        }
        return try result.get()
    }

    // MARK: Checkpoints

    /// Starts with the checkpoints of a new connection.
    func connected(lineage: String?) { checkpoint.withLock { $0.connected(lineage: lineage) } }

    /// Notes the checkpoint of a frame; call this before the frame is handled.
    func note(checkpoint text: String) { checkpoint.withLock { $0.note(text) } }

    func failure(_ error: any Error) -> ChatError {
        if let error = error as? ChatError { return error }
        if hasClosed.load(ordering: .acquiring) { return ClientCore.closed }
        return ChatError(.localStorage, "The local store failed.", cause: error)
    }
}

/// Reads from one snapshot of the database.
package struct LocalReader {
    let db: Database
    let user: UserID
    /// Decrypts messages; if it is `nil`, messages are returned as they are stored.
    var messageEncryption: MessageEncryption?
    /// Encrypts and decrypts the store's texts.
    var cipher: StoreCipher?

    /// A reader that returns messages as they are stored.
    var asStored: LocalReader {
        var reader = self
        reader.messageEncryption = nil
        return reader
    }

    /// Returns the row number of a conversation, or `nil` if it has no row.
    func number(of id: ConversationID) throws -> Int64? {
        try first("SELECT number FROM conversation WHERE id = ?") {
            $0.add(id.description)
        } read: {
            $0.integer()
        }
    }
}

/// Writes in one transaction.
package struct LocalWriter {
    let reader: LocalReader
    var db: Database { reader.db }
    var user: UserID { reader.user }

    init(reader: LocalReader) {
        self.reader = reader
    }

    /// Returns the row number of a conversation, inserting the row if necessary.
    func number(of id: ConversationID) throws -> Int64 {
        if let number = try reader.number(of: id) { return number }
        try db.cachedStatement(sql: "INSERT INTO conversation (id, kind) VALUES (?, ?)")
            .execute(arguments: [id.description, id.kind.rawValue])
        return db.lastInsertedRowID
    }
}
