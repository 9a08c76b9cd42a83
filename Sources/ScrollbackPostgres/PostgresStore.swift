package import Foundation
package import ScrollbackEngine
package import ScrollbackModel
import Synchronization

/// A store in a PostgreSQL database.
///
/// When `write` returns, PostgreSQL has confirmed the commit. Reads have snapshots of their own and never wait for
/// transactions. Transactions of all stores on one database run one after the other
/// (Documentation/decisions/0052-one-transaction-at-a-time-in-postgresql.md).
package final class PostgresStore: MessageStore {
    /// The options for opening a store.
    package struct Options: Sendable {
        /// The maximum number of concurrent reads.
        package var readers = 8
        /// The time limit of a connection attempt and of each round trip.
        package var timeout = Duration.seconds(10)
        /// The time after which PostgreSQL ends a transaction that runs no statement, so that a server that stopped
        /// does not block the others.
        package var idleTransactionTimeout = Duration.seconds(5)
        /// Whether several nodes use the database; otherwise only one store can be open (``ServerLock``).
        package var isShared = false
        /// Whether to open a database with a standby that could take over without all confirmed commits.
        package var allowsAsynchronousStandbys = false
        /// How long to wait for the database while a server uses it that does not share it.
        ///
        /// PostgreSQL needs up to 25 seconds to detect that the machine of a server was lost.
        package var lockTimeout = Duration.seconds(30)
        /// Whether to open a database that does not have all rows of the store that is copied to it.
        package var opensIncompleteCopy = false
        /// Counts the round trips of the store, for tests.
        package var roundTrips: RoundTripCounter?
        /// The time limit of each statement of a migration, and of the wait for another server's migration.
        package var migrationTimeout = Duration.seconds(3600)
        /// The clock of this machine.
        package var now: @Sendable () -> Date = { Date() }

        package init() {}
    }

    /// The generation and the newest commit of the database, as far as this store knows.
    private struct Known {
        private(set) var generation: UInt64
        var lastCommit: Int64
        /// The newest commit of the database when it had this generation.
        private var generationCommit: Int64
        /// Whether a transaction of this store may have been committed whose number is not known yet.
        var isCommitting = false

        init(_ state: StoreState) {
            generation = state.generation
            lastCommit = state.lastCommit
            generationCommit = state.lastCommit
        }

        /// Records the generation of a transaction.
        mutating func began(with state: StoreState) {
            (generation, generationCommit) = (state.generation, state.lastCommit)
        }

        /// Records the generation of a commit or read, unless a later one is known: they can end in another order.
        mutating func ended(with state: StoreState) { adopt(state.generation, of: state.lastCommit) }

        /// Records the generation of a commit, unless a later one is known.
        mutating func adopt(_ generation: UInt64, of commit: Int64) {
            if commit >= generationCommit { (self.generation, generationCommit) = (generation, commit) }
        }
    }

    let readers: ConnectionPool
    let writer: ConnectionPool
    private let known: Mutex<Known>
    let lock: ServerLock
    private let reopen: @Sendable () throws -> PostgresConnection

    /// Opens the store, and creates or migrates its tables.
    ///
    /// - Throws: `invalid-parameter` if the URL, server or database can't be used, another server uses the database, or
    ///   this version can't use the tables.
    package init(_ url: PostgresURL, options: Options = Options()) throws {
        let open: @Sendable () throws -> PostgresConnection = {
            try PostgresConnection(
                url, timeout: options.timeout, idleTransactionTimeout: options.idleTransactionTimeout,
                roundTrips: options.roundTrips)
        }
        let reopen: @Sendable () throws -> PostgresConnection = {
            do {
                return try open()
            } catch let error as ChatError {
                // The URL was right, so this is temporary, such as a standby that is not the primary yet.
                throw PostgresError.connectionLost(error.message)
            }
        }
        self.reopen = reopen
        readers = ConnectionPool(maximumCount: options.readers, open: reopen)
        writer = ConnectionPool(maximumCount: 1, open: reopen)
        do {
            let connection = try open()
            try ServerChecks.run(on: connection, options)
            // The lock comes before a migration, so that tables don't change under a server that can't use them then.
            lock = try ServerLock(open(), options)
            try connection.setTimeout(options.migrationTimeout)
            try Self.migrate(connection, isAlone: lock.excludesOthers)
            if !options.opensIncompleteCopy { try Self.checkIsComplete(connection) }
            try lock.claim()
            let state = try StoreState.read(on: connection)
            known = Mutex(Known(state))
        } catch let error as PostgresError {
            throw error.openingError
        }
    }

    deinit { close() }

    package var generation: UInt64 { known.withLock { $0.generation } }
    package var lastCommit: Int64 { get throws { try currentState().lastCommit } }
    package var newest: Timetoken { get throws { try currentState().newest } }

    package func adopt(_ generation: UInt64, of commit: Int64) {
        known.withLock { $0.adopt(generation, of: commit) }
    }

    /// The number of the last commit, without a question to the database if only this store writes and no transaction
    /// is about to end.
    package var coveringCommit: Int64 {
        get throws {
            let number = known.withLock { $0.isCommitting ? nil : $0.lastCommit }
            if !lock.isShared, let number { return number }
            return try lastCommit
        }
    }

    private func currentState() throws -> StoreState {
        let state = try translatingErrors("The store could not be read.") {
            try readers.transaction(begin: { try StoreState.read(on: $0) }) { $1 }
        }
        known.withLock { $0.ended(with: state) }
        return state
    }

    package func read<Answer>(_ body: (any StoreReader) throws -> Answer) throws -> Answer {
        try read(expecting: ExpectedReads(), body)
    }

    package func read<Answer>(
        expecting reads: ExpectedReads, _ body: (any StoreReader) throws -> Answer
    ) throws -> Answer {
        try translatingErrors("The store could not be read.") {
            try readers.transaction(begin: { try $0.beginRead(expecting: reads) }) { connection, _ in
                try body(PostgresReader(connection))
            }
        }
    }

    package func write<Answer>(_ body: (any StoreWriter, _ commit: Int64) throws -> Answer) throws -> Answer {
        try write(expecting: { ExpectedReads() }, body)
    }

    package func write<Answer>(
        expecting reads: () -> ExpectedReads, _ body: (any StoreWriter, _ commit: Int64) throws -> Answer
    ) throws -> Answer {
        var answer: Answer?
        try transact(after: known.withLock { $0.lastCommit }, as: .random(), expecting: reads) { writer, turn in
            answer = try body(writer, turn.commit)
            return []
        }
        guard let answer else { throw ChatError(.internalError, "The transaction did not run.") }
        return answer
    }

    /// Runs a closure in one transaction.
    ///
    /// - Parameters:
    ///   - reads: Returns what the closure will probably read.
    ///   - body: Returns the body of the note, which nodes store.
    func transact(
        after known: Int64, as id: CommitID, expecting reads: () -> ExpectedReads = { ExpectedReads() },
        _ body: (PostgresWriter, Turn) throws -> [UInt8]
    ) throws {
        let reads = reads()
        var now: Date?
        var notes: [Notes.Row] = []
        func begin(_ connection: PostgresConnection) throws -> StoreState {
            notes = []
            return try StoreState.beginTransaction(on: connection, expecting: reads) { connection in
                guard lock.isShared else { return }
                try Notes.enqueueTurn(
                    after: known, on: connection, time: { now = $0 }, row: { notes.append($0) })
            }
        }
        try translatingErrors("The store could not be written.") {
            try writer.transaction(begin: begin) { connection, start in
                try checkIsOwn(start)
                self.known.withLock { $0.began(with: start) }
                let writer = PostgresWriter(connection)
                var state = start
                state.lastCommit += 1
                let turn = Turn(
                    commit: state.lastCommit, newest: start.newest, time: now ?? Date(), earlier: Notes.page(of: notes))
                let note = CommitNote(number: turn.commit, id: id, body: try body(writer, turn))
                if lock.isShared { try Notes.enqueue(note, at: turn.time, on: connection) }
                state.generation = writer.generation ?? start.generation
                state.newest = max(start.newest, writer.newest)
                // From here on, reads can see the commit.
                self.known.withLock { $0.isCommitting = true }
                do {
                    try state.commit(on: connection)
                } catch let error as PostgresError where error.isUnconfirmedCommit {
                    throw UnconfirmedCommit(cause: error) { [self, state] in try wasCommitted(state, as: id) }
                } catch {
                    self.known.withLock { $0.isCommitting = false }
                    throw error
                }
                remember(state)
            }
        }
    }

    /// Returns whether a transaction was committed whose commit was not confirmed.
    ///
    /// It waits for the transaction if PostgreSQL still executes it. Its own commit shows that a synchronous standby
    /// has the transaction, too.
    private func wasCommitted(_ state: StoreState, as id: CommitID) throws -> Bool {
        try translatingErrors("The store could not be read.") {
            try writer.transaction(begin: { try StoreState.beginTransaction(on: $0) }) { connection, current in
                try checkIsOwn(current)
                var wasCommitted = current.lastCommit >= state.lastCommit
                if wasCommitted, lock.isShared {
                    // Another node could have used the same number.
                    guard let found = try Notes.id(of: state.lastCommit, on: connection) else {
                        throw ChatError(.internalError, "The note of commit \(state.lastCommit) was deleted.")
                    }
                    wasCommitted = found == id
                }
                try current.commit(on: connection)
                remember(current)
                return wasCommitted
            }
        }
    }

    func remember(_ state: StoreState) {
        known.withLock { known in
            known.lastCommit = state.lastCommit
            known.isCommitting = false
            known.ended(with: state)
        }
    }

    /// Whether this node does the work that only one node does at a time, as of the last ``checkLock()``.
    package var isLeader: Bool { lock.isLeader }

    // MARK: One server

    /// The reason why this server must not write, if there is one.
    private func refusal(of state: StoreState, knowing lastCommit: Int64) -> String? {
        if !lock.isHeld(in: state) { return "Another server uses the database now. Stop one of them." }
        // A server that lost its lock does not prevent a migration.
        if state.oldestSchema > Self.schema {
            return "A newer version of the server changed the tables (schema \(state.oldestSchema)). Start that one."
        }
        // A node compares the IDs of commits, and renews the generation of a database that lost one.
        if !lock.isShared, state.lastCommit < lastCommit {
            return "The database went back from commit \(lastCommit) to \(state.lastCommit), for example with a "
                + "failover to a standby that was not synchronous. Start the server again, so that all clients "
                + "synchronize."
        }
        return nil
    }

    /// - Throws: `shutting-down` if this server must not write.
    func checkIsOwn(_ state: StoreState) throws(ChatError) {
        guard let reason = refusal(of: state, knowing: known.withLock { $0.lastCommit }) else { return }
        throw ChatError(.shuttingDown, reason, retryAfter: 1)
    }

    /// Checks that this server may write, and takes the lock of the database again if its connection was lost.
    ///
    /// - Throws: `conflict` if another server took over the database, or a database that is not shared lost commits.
    ///   Other errors are temporary.
    package func checkLock() throws {
        let lastCommit = known.withLock { $0.lastCommit }
        let state = try translatingErrors("The store could not be read.") { try lock.renew(open: reopen) }
        if let state, let reason = refusal(of: state, knowing: lastCommit) { throw ChatError(.conflict, reason) }
    }

    /// Returns the size of the database on the server's disk, in bytes.
    package func size() throws -> Int64 {
        try translatingErrors("The store could not be read.") {
            try readers.transaction(begin: { try $0.first(Self.databaseSize) ?? 0 }) { $1 }
        }
    }

    private static let databaseSize = Statement("SELECT pg_database_size(current_database())") { $0.integer() }

    /// Returns `false`: PostgreSQL frees space by itself (autovacuum).
    package func vacuum() -> Bool { false }

    /// Waits for running operations and closes all connections.
    ///
    /// Later operations fail.
    package func close() {
        readers.close()
        writer.close()
        lock.close()
    }

    func translatingErrors<Answer>(_ message: String, _ body: () throws -> Answer) throws -> Answer {
        do {
            return try body()
        } catch let error as PostgresError {
            throw error.chatError(message)
        }
    }
}

extension PostgresError {
    /// The error of a store that could not be opened, for the operator.
    var openingError: ChatError {
        switch self {
        case .refused(let state, let message):
            .invalidParameter(
                "store",
                "names a database that refused a statement: \(message) (SQLSTATE \(state)). The user "
                    + "must have the permission to create tables in it")
        case .connectionLost(let reason):
            .invalidParameter(
                "store",
                "names a database that can't be reached (\(reason)). Check the host, port, user, password and "
                    + "database of the URL")
        case .timedOut, .commitUnconfirmed:
            .invalidParameter(
                "store",
                "names a server that does not answer. Check the host and port of the URL, and whether the server "
                    + "waits for a synchronous standby")
        }
    }
}
