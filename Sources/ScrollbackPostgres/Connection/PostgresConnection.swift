import CPostgreSQL
import Foundation
import ScrollbackEngine
import ScrollbackModel
import Synchronization

/// A connection to PostgreSQL in pipeline mode, with its prepared statements.
///
/// Statements are queued and then sent together: ``sync()`` is one round trip, whatever the number of statements. Each
/// statement is prepared with its first use, which adds no round trip.
///
/// `@unchecked Sendable`: one thread uses it at a time.
package final class PostgresConnection: @unchecked Sendable {
    /// A queued statement.
    private struct Command {
        /// The index of the statement that this command prepares.
        var prepares: Int?
        var receive: (OpaquePointer) throws -> Void = { _ in }
    }

    /// The rows of one statement that takes arrays.
    private struct GatheredRows {
        var statement: Statement<Void>
        var rows: [Parameters] = []
        var bytes = 0
        /// The indexes in `rows` of the rows that have a key.
        var indexes: [AnyHashable: Int] = [:]
    }

    let socket: PostgresSocket
    private let roundTrips: RoundTripCounter?
    /// The time limit of each statement, except of long ones.
    private var timeout = Duration.zero
    private var isPrepared: [Bool] = []
    private var queue: [Command] = []
    /// The statements whose results have not been received yet.
    private var unread: [Command] = []
    /// The rows of statements that take arrays, in the order in which the statements are sent.
    private var gathered: [GatheredRows] = []
    /// What the transaction has read ahead.
    private(set) var ahead = ReadAhead()
    /// The error after which PostgreSQL ignores the rest of the transaction, until ``rollBack()``.
    private var failure: PostgresError?

    /// Connects and sets the options of the session.
    ///
    /// - Parameters:
    ///   - timeout: The time limit of the connection and of each round trip.
    ///   - idleTransactionTimeout: The time after which PostgreSQL ends a transaction that runs no statement.
    ///   - roundTrips: Counts the round trips.
    /// - Throws: `PostgresError`; `invalid-parameter` if the server or database can't be used.
    package init(
        _ url: PostgresURL, timeout: Duration, idleTransactionTimeout: Duration, roundTrips: RoundTripCounter? = nil
    ) throws {
        self.roundTrips = roundTrips
        socket = try PostgresSocket(url, timeout: timeout)
        // Every statement is a seek, or a scan of a range, of an index, whatever its parameters. So a plan is made
        // once, and without other methods, which can be faster while a table is small and are much slower later.
        try execute(
            script: """
                SET client_min_messages = error;
                SET jit = off;
                SET plan_cache_mode = force_generic_plan;
                SET enable_seqscan = off;
                SET enable_bitmapscan = off;
                SET enable_hashjoin = off;
                SET enable_mergejoin = off;
                SET synchronous_commit = on;
                SET idle_in_transaction_session_timeout = \(idleTransactionTimeout.wholeMilliseconds);
                SET tcp_keepalives_idle = 10;
                SET tcp_keepalives_interval = 5;
                SET tcp_keepalives_count = 3;
                SET tcp_user_timeout = 25000;
                """)
        try setTimeout(timeout)
    }

    /// Sets the time limit of each round trip.
    func setTimeout(_ timeout: Duration) throws {
        try execute(script: "SET statement_timeout = \(timeout.wholeMilliseconds)")
        self.timeout = timeout
        // A little later, so that a statement that takes too long does not cost the connection.
        socket.timeout = timeout + .seconds(1)
    }

    var isLost: Bool { socket.isLost }

    // MARK: Statements

    /// Runs a statement and passes each row to `row`.
    ///
    /// - Parameter row: Returns whether to continue.
    /// - Returns: The number of rows that the statement returned or changed.
    @discardableResult
    func run<Row>(
        _ statement: Statement<Row>, bind: (inout Parameters) -> Void = { _ in },
        row: @escaping (Row) throws -> Bool = { _ in true }
    ) throws -> Int {
        var count = 0
        try enqueue(statement, bind: bind) { result in
            count = Self.count(result)
            try Self.read(result) { try row(try statement.decode(&$0)) }
        }
        try sync()
        return count
    }

    /// Queues a statement, and passes each row to `row` with the next ``sync()``.
    func enqueue<Row>(
        _ statement: Statement<Row>, bind: (inout Parameters) -> Void = { _ in }, row: @escaping (Row) -> Void
    ) throws {
        try enqueue(statement, bind: bind) { result in
            try Self.read(result) { columns in
                row(try statement.decode(&columns))
                return true
            }
        }
    }

    /// Returns all rows of a statement that is not prepared, because it has too many variants.
    func all<Row: StoredRow>(uncached sql: String, bind: (inout Parameters) -> Void = { _ in }) throws -> [Row] {
        var rows: [Row] = []
        try run(uncached: sql, bind: bind) { rows.append(try Row(&$0)) }
        return rows
    }

    /// Runs a statement that is not prepared, because it has too many variants.
    func run(
        uncached sql: String, bind: (inout Parameters) -> Void = { _ in },
        row: @escaping (inout Columns) throws -> Void = { _ in }
    ) throws {
        try sendGathered()
        let parameters = Self.parameters(bind)
        let command = Command { result in
            try Self.read(result) { columns in
                try row(&columns)
                return true
            }
        }
        try send(command) {
            parameters.withAddresses {
                PQsendQueryParams(
                    socket.connection, numbered(sql), parameters.count, parameters.typeIDs, $0, parameters.lengths,
                    Self.binary(parameters.count), 1)
            }
        }
        try sync()
    }

    /// Returns the first row.
    func first<Row>(_ statement: Statement<Row>, bind: (inout Parameters) -> Void = { _ in }) throws -> Row? {
        var first: Row?
        try run(statement, bind: bind) { row in
            first = row
            return false
        }
        return first
    }

    /// Returns all rows.
    func all<Row>(_ statement: Statement<Row>, bind: (inout Parameters) -> Void = { _ in }) throws -> [Row] {
        var rows: [Row] = []
        try run(statement, bind: bind) { row in
            rows.append(row)
            return true
        }
        return rows
    }

    /// Returns at most `limit` rows of a statement whose last parameter is the limit.
    func all<Row>(
        _ statement: Statement<Row>, limit: Int, bind: (inout Parameters) -> Void = { _ in }
    ) throws -> [Row] {
        guard limit > 0 else { return [] }
        return try all(statement) { parameters in
            bind(&parameters)
            parameters.add(Int64(limit))
        }
    }

    /// Queues a statement for the next ``sync()``.
    func enqueue<Row>(
        _ statement: Statement<Row>, bind: (inout Parameters) -> Void = { _ in },
        receive: @escaping (OpaquePointer) throws -> Void = { _ in }
    ) throws {
        try sendGathered()
        ahead.forget(statement.changedTables)
        try send(statement, Self.parameters(bind), receive)
    }

    /// Queues a statement that takes arrays, whose elements are the values of one row each.
    func enqueue<Row>(
        _ statement: Statement<Row>, rows: [Parameters], row: @escaping (Row) throws -> Void
    ) throws {
        guard !rows.isEmpty else { return }
        try sendGathered()
        try send(statement, Parameters(columnsOf: rows)) { result in
            try Self.read(result) { columns in
                try row(try statement.decode(&columns))
                return true
            }
        }
    }

    /// Adds a row to a statement that takes arrays, which is sent with all its rows before the next query.
    ///
    /// Statements on different tables don't affect each other, so that changes of several tables can alternate. The
    /// caller updates ``ahead``.
    ///
    /// - Parameter key: A later row with the same key replaces the earlier one.
    func gather(_ statement: Statement<Void>, key: (some Hashable)?, bind: (inout Parameters) -> Void) throws {
        ahead.snapshot = SnapshotRows()
        var index = gathered.firstIndex { $0.statement.index == statement.index }
        if index == nil {
            let tables = statement.changedTables
            if gathered.contains(where: { !$0.statement.changedTables.isDisjoint(with: tables) }) { try sendGathered() }
            index = gathered.count
            gathered.append(GatheredRows(statement: statement))
        }
        guard let index else { return }
        let row = Self.parameters(bind)
        if let key, let known = gathered[index].indexes[AnyHashable(key)] {
            gathered[index].rows[known] = row
            return
        }
        if let key { gathered[index].indexes[AnyHashable(key)] = gathered[index].rows.count }
        gathered[index].rows.append(row)
        gathered[index].bytes += row.byteCount
        if gathered[index].rows.count == Self.maximumRows || gathered[index].bytes >= Self.maximumBytes {
            try sendGathered()
        }
    }

    /// The number of rows, and of bytes, at which a statement that takes arrays is sent.
    private static let maximumRows = 1000
    private static let maximumBytes = 4 << 20

    /// Adds a row that is new, and so has no key.
    func gather(_ statement: Statement<Void>, bind: (inout Parameters) -> Void) throws {
        try gather(statement, key: nil as Int?, bind: bind)
    }

    private func sendGathered() throws {
        let all = gathered
        gathered = []
        for rows in all { try send(rows.statement, Parameters(columnsOf: rows.rows)) }
    }

    private func send<Row>(
        _ statement: Statement<Row>, _ parameters: Parameters,
        _ receive: @escaping (OpaquePointer) throws -> Void = { _ in }
    ) throws {
        let name = "s\(statement.index)"
        while isPrepared.count <= statement.index { isPrepared.append(false) }
        if !isPrepared[statement.index], !queue.contains(where: { $0.prepares == statement.index }) {
            try send(Command(prepares: statement.index)) {
                PQsendPrepare(socket.connection, name, statement.sql, parameters.count, parameters.typeIDs)
            }
        }
        try send(Command(receive: receive)) {
            parameters.withAddresses {
                PQsendQueryPrepared(
                    socket.connection, name, parameters.count, $0, parameters.lengths, Self.binary(parameters.count), 1)
            }
        }
    }

    /// Runs the statements that `body` runs or queues, each of which may take up to an hour.
    ///
    /// The commit has the usual time limit again.
    func runLongStatements(_ body: () throws -> Void) throws {
        try enqueue(Self.allowLongStatements)
        socket.timeout = Self.longTimeout + .seconds(1)
        defer { socket.timeout = timeout + .seconds(1) }
        try body()
        try sync()
    }

    private static let longTimeout = Duration.seconds(3600)
    private static let allowLongStatements = Statement("SET LOCAL statement_timeout = \(longTimeout.wholeMilliseconds)")

    /// Sends the queued statements and receives their results.
    ///
    /// - Throws: The first error. PostgreSQL ignores the statements after it.
    func sync() throws {
        try sendGathered()
        roundTrips?.count.add(1, ordering: .relaxed)
        try socket.send { PQpipelineSync(socket.connection) }
        let commands = queue
        queue = []
        try socket.flush()
        try receiveUnread()
        try receive(commands)
    }

    /// Sends the queued statements, if there are any, as ``sync()`` does.
    func syncQueued() throws {
        if !queue.isEmpty { try sync() }
    }

    private func receiveUnread() throws {
        guard !unread.isEmpty else { return }
        let commands = unread
        unread = []
        do {
            try receive(commands)
        } catch {
            // The results of later statements can't be assigned any more.
            socket.close()
            throw error
        }
    }

    /// Receives the results of statements that were sent together.
    private func receive(_ commands: [Command]) throws {
        var firstError: (any Error)?
        for command in commands {
            let result = try socket.nextResult()
            defer { PQclear(result) }
            do {
                try receive(result, of: command)
            } catch {
                firstError = firstError ?? error
                if isLost { throw error }
            }
            // A null result ends the results of each command.
            while let extra = try socket.nextResult() { PQclear(extra) }
        }
        PQclear(try socket.nextResult())
        if let firstError { throw firstError }
    }

    private func receive(_ result: OpaquePointer?, of command: Command) throws {
        switch PQresultStatus(result) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK:
            if let index = command.prepares { isPrepared[index] = true }
            if let result { try command.receive(result) }
        case PGRES_PIPELINE_ABORTED: break
        default:
            let error = socket.error(of: result)
            failure = error
            throw error
        }
    }

    private func send(_ command: Command, _ body: () -> CInt) throws {
        if let failure { throw failure }
        try socket.send(body)
        roundTrips?.statements.add(1, ordering: .relaxed)
        queue.append(command)
    }

    private static func parameters(_ bind: (inout Parameters) -> Void) -> Parameters {
        var parameters = Parameters()
        bind(&parameters)
        return parameters
    }

    private static func binary(_ count: CInt) -> [CInt] { Array(repeating: 1, count: Int(count)) }

    private static func read(_ result: OpaquePointer, _ row: (inout Columns) throws -> Bool) throws {
        for number in 0..<PQntuples(result) {
            var columns = Columns(result, row: number)
            guard try row(&columns) else { return }
        }
    }

    private static func count(_ result: OpaquePointer) -> Int { Int(String(cString: PQcmdTuples(result))) ?? 0 }

    /// Runs several statements without parameters, outside of pipeline mode.
    package func execute(script: String) throws {
        if let failure { throw failure }
        try receiveUnread()
        try socket.send { PQexitPipelineMode(socket.connection) }
        try socket.send { PQsendQuery(socket.connection, script) }
        try socket.flush()
        var firstError: PostgresError?
        while let result = try socket.nextResult() {
            defer { PQclear(result) }
            if PQresultStatus(result) == PGRES_FATAL_ERROR { firstError = firstError ?? socket.error(of: result) }
        }
        try socket.send { PQenterPipelineMode(socket.connection) }
        if let firstError { throw firstError }
    }

    // MARK: Transactions

    private static let beginRead = Statement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    private static let beginWrite = Statement("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
    private static let commitTransaction = Statement("COMMIT")
    private static let rollBackTransaction = Statement("ROLLBACK")

    /// Begins a snapshot, which is taken with the first query.
    func beginRead(expecting reads: ExpectedReads = .init()) throws {
        try enqueue(Self.beginRead)
        try readAhead(reads)
        try sync()
    }

    /// Queues the beginning of a transaction.
    func enqueueBeginWrite() throws { try enqueue(Self.beginWrite) }

    /// Queues the queries for what the transaction will probably read.
    func readAhead(_ reads: ExpectedReads) throws {
        ahead = ReadAhead()
        try ahead.enqueue(reads, on: self)
    }

    /// Commits the transaction, after the queued statements.
    ///
    /// - Throws: `PostgresError.commitUnconfirmed` if the connection was lost or the time limit passed.
    func commit() throws {
        var isCommitted = false
        try enqueue(
            Self.commitTransaction,
            receive: { result in
                // PostgreSQL answers a commit of a failed transaction with a rollback, and no error.
                isCommitted = String(cString: PQcmdStatus(result)) == "COMMIT"
            })
        do {
            try sync()
        } catch PostgresError.connectionLost(let reason) {
            throw PostgresError.commitUnconfirmed(reason)
        } catch PostgresError.timedOut {
            throw PostgresError.commitUnconfirmed("The time limit passed.")
        }
        guard isCommitted else { throw PostgresError.refused(state: "25P02", message: "The transaction had failed.") }
    }

    /// Rolls back the transaction, if one is open.
    ///
    /// The answer is received with the next round trip, if only a lost connection can make it fail.
    func rollBack() {
        failure = nil
        gathered = []
        ahead = ReadAhead()
        guard !isLost, PQtransactionStatus(socket.connection) != PQTRANS_IDLE || !queue.isEmpty else { return }
        do {
            // PostgreSQL ignores the rollback if a queued statement fails.
            let mustWait = !queue.isEmpty || !unread.isEmpty
            try enqueue(Self.rollBackTransaction)
            if mustWait { return try sync() }
            try socket.send { PQpipelineSync(socket.connection) }
            try socket.flush()
            unread = queue
            queue = []
        } catch {
            socket.close()
        }
    }
}

/// Counts the round trips and statements of the connections of a store.
package final class RoundTripCounter: Sendable {
    let count = Atomic(0)
    let statements = Atomic(0)

    package init() {}

    package var value: Int { count.load(ordering: .relaxed) }
    /// The number of statements, and of their preparations.
    package var statementCount: Int { statements.load(ordering: .relaxed) }
}

extension Duration {
    var wholeMilliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
