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
        /// The time limit of each statement of a migration, and of the wait for another server's migration.
        package var migrationTimeout = Duration.seconds(3600)

        package init() {}
    }

    private let readers: ConnectionPool
    private let writer: ConnectionPool
    private let knownGeneration: Mutex<UInt64>

    /// Opens the store, and creates or migrates its tables.
    ///
    /// - Throws: `invalid-parameter` if the URL, server or database can't be used, or a newer version of the server
    ///   wrote the tables.
    package init(_ url: PostgresURL, options: Options = Options()) throws {
        let open: @Sendable () throws -> PostgresConnection = {
            try PostgresConnection(
                url, timeout: options.timeout, idleTransactionTimeout: options.idleTransactionTimeout)
        }
        readers = ConnectionPool(maximumCount: options.readers, open: open)
        writer = ConnectionPool(maximumCount: 1, open: open)
        do {
            let connection = try open()
            try connection.setTimeout(options.migrationTimeout)
            try Self.migrate(connection)
            knownGeneration = Mutex(try StoreState.read(on: connection).generation)
        } catch let error as PostgresError {
            throw error.openingError
        }
    }

    deinit { close() }

    package var generation: UInt64 { knownGeneration.withLock { $0 } }
    package var lastCommit: Int64 { get throws { try currentState().lastCommit } }
    package var newest: Timetoken { get throws { try currentState().newest } }

    private func currentState() throws -> StoreState {
        let state = try translatingErrors("The store could not be read.") {
            try readers.transaction(begin: { try StoreState.read(on: $0) }) { $1 }
        }
        knownGeneration.withLock { $0 = state.generation }
        return state
    }

    package func read<Answer>(_ body: (any StoreReader) throws -> Answer) throws -> Answer {
        try translatingErrors("The store could not be read.") {
            try readers.transaction(begin: { try $0.beginRead() }) { connection, _ in
                try body(PostgresReader(connection))
            }
        }
    }

    package func write<Answer>(_ body: (any StoreWriter, _ commit: Int64) throws -> Answer) throws -> Answer {
        try translatingErrors("The store could not be written.") {
            try writer.transaction(begin: { try StoreState.beginTransaction(on: $0) }) { connection, start in
                let commit = start.lastCommit + 1
                let writer = PostgresWriter(connection)
                let answer = try body(writer, commit)
                let end = StoreState(
                    generation: writer.generation ?? start.generation, lastCommit: commit,
                    newest: max(start.newest, writer.newest))
                try end.commit(on: connection)
                knownGeneration.withLock { $0 = end.generation }
                return answer
            }
        }
    }

    /// Returns `false`: PostgreSQL frees space by itself (autovacuum).
    package func vacuum() -> Bool { false }

    /// Waits for running operations and closes all connections.
    ///
    /// Later operations fail.
    package func close() {
        readers.close()
        writer.close()
    }

    private func translatingErrors<Answer>(_ message: String, _ body: () throws -> Answer) throws -> Answer {
        do {
            return try body()
        } catch let error as PostgresError {
            throw error.chatError(message)
        }
    }
}

extension PostgresError {
    /// The error of a store that could not be opened, for the operator.
    fileprivate var openingError: ChatError {
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
