import Foundation
import ScrollbackEngine
import ScrollbackModel

/// The row with the state of the whole store.
///
/// A transaction locks it from its beginning to its end, so that transactions run one after the other.
struct StoreState: StoredRow {
    static let columns = "generation, lastCommit, newest, server, oldestSchema"

    var generation: UInt64
    var lastCommit: Int64
    /// The newest time of any message.
    var newest: Timetoken
    /// The server that may write; `nil` if all nodes may.
    var server: UUID?
    /// The oldest schema whose servers can use the tables (``PostgresStore/Migration/oldestUser``).
    var oldestSchema: Int64

    private static let current = Statement<StoreState>("SELECT \(columns) FROM storeState")
    private static let locked = Statement<StoreState>("SELECT \(columns) FROM storeState FOR NO KEY UPDATE")
    private static let update = Statement("UPDATE storeState SET (\(columns)) = (\(placeholders(columns)))")

    init(_ columns: inout Columns) {
        generation = columns.bits()
        lastCommit = columns.integer()
        newest = columns.timetoken()
        server = columns.optionalUUID()
        oldestSchema = columns.integer()
    }

    /// Begins a transaction and waits for its turn, in one round trip.
    ///
    /// - Parameters:
    ///   - reads: What the transaction will probably read.
    ///   - afterLock: Queues further statements, which PostgreSQL executes after earlier transactions.
    static func beginTransaction(
        on connection: PostgresConnection, expecting reads: ExpectedReads = .init(),
        afterLock: (PostgresConnection) throws -> Void = { _ in }
    ) throws -> StoreState {
        try connection.enqueueBeginWrite()
        var state: StoreState?
        do {
            try connection.enqueue(locked, row: { state = $0 })
            try afterLock(connection)
            try connection.readAhead(reads)
            try connection.sync()
            return try existing(state)
        } catch PostgresError.refused(state: "57014", _) where state == nil {
            // An earlier transaction has not ended, for example because it waits for a standby.
            throw PostgresError.timedOut
        }
    }

    /// Reads the state of the newest commit, outside of a transaction.
    static func read(on connection: PostgresConnection) throws -> StoreState { try read(current, on: connection) }

    private static func read(
        _ statement: Statement<StoreState>, on connection: PostgresConnection
    ) throws -> StoreState {
        try existing(connection.first(statement))
    }

    private static func existing(_ state: StoreState?) throws -> StoreState {
        guard let state else {
            throw ChatError(.internalError, "The database has no row in storeState. Restore a backup.")
        }
        return state
    }

    /// Stores the state and commits, in one round trip.
    func commit(on connection: PostgresConnection) throws {
        try connection.enqueue(Self.update) {
            $0.add(bits: generation)
            $0.add(lastCommit, newest, server, oldestSchema)
        }
        try connection.commit()
    }
}
