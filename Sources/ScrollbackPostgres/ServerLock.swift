import Foundation
import ScrollbackEngine
import ScrollbackModel
import Synchronization

/// The right of one server to use a database.
///
/// A session-level advisory lock shows a starting server that the database is in use. PostgreSQL releases it when the
/// connection is lost, even if the server still runs. This is why ``StoreState`` names the server, and each transaction
/// checks it: once another server has started, the first one can't write any more.
final class ServerLock: Sendable {
    private let server = UUID()
    /// The session that has the lock; `nil` after ``close()``.
    private let session: Mutex<PostgresConnection?>

    /// The lock is that of the schema, so that several servers can share a database, each with its own schema.
    private static let key = "hashtextextended(current_schema(), 0)"
    private static let lock = Statement("SELECT pg_advisory_lock(\(key))")
    private static let tryLock = Statement("SELECT pg_try_advisory_lock(\(key))") { $0.flag() }
    private static let holder = Statement(
        """
        SELECT coalesce(host(client_addr), 'this machine'), to_char(backend_start, 'YYYY-MM-DD HH24:MI:SS TZ')
        FROM pg_locks JOIN pg_stat_activity USING (pid)
        WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND classid::bigint << 32 | objid::bigint = \(key)
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND backend_start IS NOT NULL
        """
    ) { (address: $0.text(), since: $0.text()) }

    /// Waits until no other server uses the database.
    ///
    /// - Parameter connection: The session that has the lock from now on.
    /// - Throws: `invalid-parameter` if another server still uses the database after `options.lockTimeout`.
    init(_ connection: PostgresConnection, _ options: PostgresStore.Options) throws {
        try connection.setTimeout(options.lockTimeout + options.timeout)
        try connection.execute(script: "SET lock_timeout = \(max(1, options.lockTimeout.wholeMilliseconds))")
        do {
            try connection.run(Self.lock)
        } catch PostgresError.refused(state: "55P03", _) {
            connection.rollBack()
            // Another role may not see the session.
            let holder = try connection.first(Self.holder)
            let name = holder.map { " (from \($0.address), since \($0.since))" } ?? ""
            throw ChatError.invalidParameter(
                "store", "names a database that another server uses\(name). Stop that server, or use another database")
        }
        try connection.execute(script: "SET lock_timeout = 0")
        try connection.setTimeout(options.timeout)
        session = Mutex(connection)
    }

    /// Takes the database over, after its tables exist.
    func claim() throws {
        guard let connection = session.withLock({ $0 }) else { return }
        var state = try StoreState.beginTransaction(on: connection)
        state.server = server
        try state.commit(on: connection)
    }

    /// Whether no other server took over.
    func isHeld(in state: StoreState) -> Bool { state.server == server }

    /// Reads the state, and takes the lock again if the connection was lost.
    ///
    /// - Parameter open: Opens a connection.
    func renew(open: () throws -> PostgresConnection) throws -> StoreState? {
        try session.withLock { session in
            guard let connection = session else { return nil }
            do {
                return try StoreState.read(on: connection)
            } catch let error as PostgresError {
                connection.rollBack()
                guard connection.isLost else { throw error }
            }
            let next = try open()
            let state = try StoreState.read(on: next)
            // PostgreSQL may not have detected yet that the last session is lost. The next call tries again.
            if isHeld(in: state), try next.first(Self.tryLock) == true { session = next }
            return state
        }
    }

    /// Releases the lock.
    func close() { session.withLock { $0 = nil } }
}
