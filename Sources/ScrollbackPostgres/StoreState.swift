import Foundation
import ScrollbackEngine
import ScrollbackModel

/// The row with the state of the whole store.
///
/// A transaction locks it from its beginning to its end, so that transactions run one after the other.
struct StoreState: StoredRow {
    static let columns = "generation, lastCommit, newest, server"

    var generation: UInt64
    var lastCommit: Int64
    /// The newest time of any message.
    var newest: Timetoken
    /// The server that may write; `nil` if every server may.
    var server: UUID?

    private static let current = Statement<StoreState>("SELECT \(columns) FROM storeState")
    private static let locked = Statement<StoreState>("SELECT \(columns) FROM storeState FOR NO KEY UPDATE")
    private static let update = Statement("UPDATE storeState SET (\(columns)) = (\(placeholders(columns)))")

    init(_ columns: inout Columns) {
        generation = columns.bits()
        lastCommit = columns.integer()
        newest = columns.timetoken()
        server = columns.optionalUUID()
    }

    /// Begins a transaction and waits for its turn, in one round trip.
    static func beginTransaction(on connection: PostgresConnection) throws -> StoreState {
        try connection.enqueueBeginWrite()
        do {
            return try read(locked, on: connection)
        } catch PostgresError.refused(state: "57014", _) {
            // An earlier transaction has not ended, for example because it waits for a standby.
            throw PostgresError.timedOut
        }
    }

    /// Reads the state of the newest commit, outside of a transaction.
    static func read(on connection: PostgresConnection) throws -> StoreState { try read(current, on: connection) }

    private static func read(
        _ statement: Statement<StoreState>, on connection: PostgresConnection
    ) throws -> StoreState {
        guard let state = try connection.first(statement) else {
            throw ChatError(.internalError, "The database has no row in storeState. Restore a backup.")
        }
        return state
    }

    /// Stores the state and commits, in one round trip.
    func commit(on connection: PostgresConnection) throws {
        try connection.enqueue(Self.update) {
            $0.add(bits: generation)
            $0.add(lastCommit, newest, server)
        }
        try connection.commit()
    }
}
