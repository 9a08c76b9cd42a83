import Foundation
import GRDB
import GRDBSQLite
import SQLiteSupport

/// The prepared statements of one connection, compiled on first use.
///
/// `@unchecked Sendable`: it is used only with GRDB's access to the database, which one thread has at a time.
final class SQLiteConnection: @unchecked Sendable {
    let database: Database
    /// The cipher for texts; `nil` without keys.
    let cipher: StoreCipher?
    /// The prepared statements at their indexes.
    private var statements: [GRDB.Statement?] = []
    /// The error after which SQLite rolled back a transaction; later statements would run outside of it.
    private var rollbackError: DatabaseError?

    init(_ database: Database, cipher: StoreCipher? = nil) {
        self.database = database
        self.cipher = cipher
    }

    /// Runs a statement and passes each row to `row`.
    ///
    /// - Parameter row: Returns whether to continue.
    func run<Row>(
        _ statement: Statement<Row>, bind: (inout Parameters) -> Void = { _ in },
        row: (consuming Row) throws -> Bool = { _ in true }
    ) throws {
        try run(try prepare(statement), bind: bind) { try row(try statement.decode(&$0)) }
    }

    /// Runs a statement that is not cached, because it has too many variants.
    func run(
        uncached sql: String, bind: (inout Parameters) -> Void = { _ in }, row: (inout Columns) throws -> Bool
    ) throws {
        try run(try database.makeStatement(sql: sql), bind: bind, row: row)
    }

    func run(
        _ statement: GRDB.Statement, bind: (inout Parameters) -> Void = { _ in }, row: (inout Columns) throws -> Bool
    ) throws {
        if let rollbackError { throw rollbackError }
        try statement.run(cipher: cipher, bind: bind, row: row) { code, systemError in
            failure(code, systemError: systemError, statement)
        }
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

    /// Returns at most `limit` rows.
    func all<Row>(
        _ statement: Statement<Row>, limit: Int = .max, bind: (inout Parameters) -> Void = { _ in }
    ) throws -> [Row] {
        guard limit > 0 else { return [] }
        var rows: [Row] = []
        rows.reserveCapacity(min(limit, 64))
        try run(statement, bind: bind) { row in
            rows.append(row)
            return rows.count < limit
        }
        return rows
    }

    static let beginRead = Statement("BEGIN DEFERRED")
    static let beginWrite = Statement("BEGIN IMMEDIATE")
    static let commit = Statement("COMMIT")
    private static let rollback = Statement("ROLLBACK")

    /// Rolls back a failed transaction, unless SQLite already did.
    func rollBack() {
        rollbackError = nil
        guard sqlite3_get_autocommit(database.sqliteConnection) == 0 else { return }
        try? run(Self.rollback)
    }

    /// The number of rows that the last statement changed.
    var changes: Int { Int(sqlite3_changes(database.sqliteConnection)) }

    /// The number of virtual machine steps that the cached statements have executed.
    var steps: Int {
        statements.reduce(0) { sum, statement in
            sum + (statement.map { Int(sqlite3_stmt_status($0.sqliteStatement, SQLITE_STMTSTATUS_VM_STEP, 0)) } ?? 0)
        }
    }

    private func prepare<Row>(_ statement: Statement<Row>) throws -> GRDB.Statement {
        if statement.index < statements.count, let known = statements[statement.index] { return known }
        let made = try database.makeStatement(sql: statement.sql)
        while statements.count <= statement.index { statements.append(nil) }
        statements[statement.index] = made
        return made
    }

    /// Creates an error for a failed statement and detects a full disk.
    ///
    /// SQLite reports ENOSPC as full, but reports an exceeded quota or file size limit as an I/O error. For a failed
    /// commit, it does not report the system error.
    private func failure(_ code: CInt, systemError: CInt, _ statement: GRDB.Statement) -> DatabaseError {
        let isFull = code & 0xFF == SQLITE_IOERR && DatabaseError.indicatesOutOfSpace(systemError)
        let error = DatabaseError(
            resultCode: isFull ? .SQLITE_FULL : ResultCode(rawValue: code),
            message: String(cString: sqlite3_errmsg(database.sqliteConnection)),
            sql: statement.sql)
        if sqlite3_get_autocommit(database.sqliteConnection) != 0 { rollbackError = error }
        return error
    }
}
