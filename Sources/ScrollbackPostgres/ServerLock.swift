import Foundation
import ScrollbackEngine
import ScrollbackModel
import Synchronization

/// The right of one server, or of several nodes, to use a database.
///
/// Session-level advisory locks show a starting server whether the database is in use. PostgreSQL releases them when
/// the connection is lost, even if the server still runs. This is why ``StoreState`` names a server that does not share
/// the database, and each transaction checks it. Once another server has started, the first one can't write any more.
final class ServerLock: Sendable {
    /// Whether several nodes use the database.
    let isShared: Bool
    private let server = UUID()
    private let state: Mutex<State>

    private struct State {
        /// The session that has the lock; `nil` after ``ServerLock/close()``.
        var session: PostgresConnection?
        /// Whether no other node used the database when this one opened it.
        var isFirst: Bool
    }

    /// Whether the session also has the lock of the leader.
    private let leads = Atomic(false)

    /// The locks are those of the schema, so that several servers can share a database, each with its own schema.
    private static let key = "hashtextextended(current_schema(), 0)"
    private static let lock = Statement("SELECT pg_advisory_lock(\(key))")
    private static let lockShared = Statement("SELECT pg_advisory_lock_shared(\(key))")
    private static let unlock = Statement("SELECT pg_advisory_unlock(\(key))")
    private static let tryLock = Statement("SELECT pg_try_advisory_lock(\(key))") { $0.flag() }
    private static let tryLockShared = Statement("SELECT pg_try_advisory_lock_shared(\(key))") { $0.flag() }
    private static let tryLead = Statement(
        "SELECT pg_try_advisory_lock(hashtextextended(current_schema(), 1))"
    ) { $0.flag() }
    private static let holder = Statement(
        """
        SELECT coalesce(host(client_addr), 'this machine'), to_char(backend_start, 'YYYY-MM-DD HH24:MI:SS TZ')
        FROM pg_locks JOIN pg_stat_activity USING (pid)
        WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND classid::bigint << 32 | objid::bigint = \(key)
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND backend_start IS NOT NULL
        """
    ) { (address: $0.text(), since: $0.text()) }

    /// Waits until no other server uses the database, or none that does not share it.
    ///
    /// - Parameter connection: The session that has the lock from now on.
    /// - Throws: `invalid-parameter` if another server still uses the database after `options.lockTimeout`.
    init(_ connection: PostgresConnection, _ options: PostgresStore.Options) throws {
        isShared = options.isShared
        // A node that is alone keeps others away until the store is ready for them.
        var isAlone = try options.isShared && connection.first(Self.tryLock) == true
        if !isAlone { try Self.wait(for: options.isShared ? Self.lockShared : Self.lock, on: connection, options) }
        // The server that it waited for may have been the only one.
        if options.isShared, !isAlone { isAlone = try connection.first(Self.tryLock) == true }
        state = Mutex(State(session: connection, isFirst: isAlone))
    }

    private static func wait(
        for lock: Statement<Void>, on connection: PostgresConnection, _ options: PostgresStore.Options
    ) throws {
        try connection.setTimeout(options.lockTimeout + options.timeout)
        try connection.execute(script: "SET lock_timeout = \(max(1, options.lockTimeout.wholeMilliseconds))")
        do {
            try connection.run(lock)
        } catch PostgresError.refused(state: "55P03", _) {
            connection.rollBack()
            // Another role may not see the session.
            let holder = try connection.first(Self.holder)
            let name = holder.map { " (from \($0.address), since \($0.since))" } ?? ""
            let fix = options.isShared ? "start all of them with --bus" : "use another database"
            throw ChatError.invalidParameter(
                "store", "names a database that another server uses\(name). Stop that server, or \(fix)")
        }
        try connection.execute(script: "SET lock_timeout = 0")
        try connection.setTimeout(options.timeout)
    }

    /// Takes the database over, after its tables exist.
    func claim() throws {
        try state.withLock { state in
            guard let connection = state.session else { return }
            var stored = try StoreState.beginTransaction(on: connection)
            guard isShared else {
                stored.server = server
                return try stored.commit(on: connection)
            }
            let isAlone = state.isFirst
            // The last server may not have shared the database.
            state.isFirst = isAlone || stored.server != nil
            if state.isFirst {
                stored.server = nil
                // The nodes follow the notes from here on.
                try Notes.enqueueFirst(stored.lastCommit, on: connection)
            }
            try stored.commit(on: connection)
            if isAlone {
                try connection.run(Self.lockShared)
                try connection.run(Self.unlock)
            }
        }
    }

    /// Whether no other server can use the database before ``claim()``.
    var excludesOthers: Bool { !isShared || isFirst }

    /// Whether no other node used the database when this one opened it.
    var isFirst: Bool { state.withLock { $0.isFirst } }

    /// Whether no other server took over.
    func isHeld(in state: StoreState) -> Bool { state.server == (isShared ? nil : server) }

    /// Whether this node has the lock of the leader, as of the last ``renew(open:)``.
    var isLeader: Bool { leads.load(ordering: .relaxed) }

    /// Reads the state, takes the lock again if the connection was lost, and the lock of the leader if no other node
    /// has it.
    ///
    /// - Parameter open: Opens a connection.
    func renew(open: () throws -> PostgresConnection) throws -> StoreState? {
        try state.withLock { state in
            guard let connection = state.session else { return nil }
            let found: StoreState
            do {
                found = try StoreState.read(on: connection)
            } catch let error as PostgresError {
                connection.rollBack()
                guard connection.isLost else { throw error }
                leads.store(false, ordering: .relaxed)
                return try renew(&state, on: open())
            }
            if isShared, !isLeader, try connection.first(Self.tryLead) == true { leads.store(true, ordering: .relaxed) }
            return found
        }
    }

    private func renew(_ state: inout State, on next: PostgresConnection) throws -> StoreState {
        let found = try StoreState.read(on: next)
        // PostgreSQL may not have detected yet that the last session is lost. The next call tries again.
        if isHeld(in: found), try next.first(isShared ? Self.tryLockShared : Self.tryLock) == true {
            state.session = next
        }
        return found
    }

    /// Releases the locks.
    func close() { state.withLock { $0 = State(isFirst: $0.isFirst) } }
}
