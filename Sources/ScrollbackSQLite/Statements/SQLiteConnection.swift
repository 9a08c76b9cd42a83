import Foundation
import GRDB
import GRDBSQLite
import StoreFiles

/// The prepared statements of one connection, compiled on first use.
///
/// `@unchecked Sendable`: it is used only with GRDB's access to the database, which one thread has at a time.
final class SQLiteConnection: @unchecked Sendable {
    let database: Database
    /// The cipher for texts; `nil` without keys.
    let cipher: StoreCipher?
    private var statements: [Statement?] = Array(repeating: nil, count: Query.allCases.count)
    /// The error after which SQLite rolled back a transaction; later statements would run outside of it.
    private var rollbackError: DatabaseError?

    init(_ database: Database, cipher: StoreCipher? = nil) {
        self.database = database
        self.cipher = cipher
    }

    /// Runs a statement and passes each row to `row`.
    ///
    /// - Parameter row: Returns whether to continue.
    func run(
        _ query: Query, bind: (inout Parameters) -> Void = { _ in }, row: (inout Columns) throws -> Bool = { _ in true }
    ) throws {
        try run(try statement(query), bind: bind, row: row)
    }

    /// Runs a statement that is not cached, because it has too many variants.
    func run(
        uncached sql: String, bind: (inout Parameters) -> Void = { _ in }, row: (inout Columns) throws -> Bool
    ) throws {
        try run(try database.makeStatement(sql: sql), bind: bind, row: row)
    }

    func run(
        _ statement: Statement, bind: (inout Parameters) -> Void = { _ in }, row: (inout Columns) throws -> Bool
    ) throws {
        if let rollbackError { throw rollbackError }
        try statement.run(cipher: cipher, bind: bind, row: row) { code, systemError in
            failure(code, systemError: systemError, statement)
        }
    }

    /// Returns the value of the first row.
    func first<Value>(
        _ query: Query, bind: (inout Parameters) -> Void, row: (inout Columns) throws -> Value
    ) throws -> Value? {
        var value: Value?
        try run(query, bind: bind) { columns in
            value = try row(&columns)
            return false
        }
        return value
    }

    /// Returns the values of at most `limit` rows.
    func all<Value>(
        _ query: Query, limit: Int = .max, bind: (inout Parameters) -> Void, row: (inout Columns) throws -> Value
    ) throws -> [Value] {
        guard limit > 0 else { return [] }
        var values: [Value] = []
        values.reserveCapacity(min(limit, 64))
        try run(query, bind: bind) { columns in
            values.append(try row(&columns))
            return values.count < limit
        }
        return values
    }

    /// Rolls back a failed transaction, unless SQLite already did.
    func rollBack() {
        rollbackError = nil
        guard sqlite3_get_autocommit(database.sqliteConnection) == 0 else { return }
        try? run(.rollback)
    }

    /// The number of rows that the last statement changed.
    var changes: Int { Int(sqlite3_changes(database.sqliteConnection)) }

    /// The number of virtual machine steps that the cached statements have executed.
    var steps: Int {
        statements.reduce(0) { sum, statement in
            sum + (statement.map { Int(sqlite3_stmt_status($0.sqliteStatement, SQLITE_STMTSTATUS_VM_STEP, 0)) } ?? 0)
        }
    }

    private func statement(_ query: Query) throws -> Statement {
        if let known = statements[query.rawValue] { return known }
        let made = try database.makeStatement(sql: query.sql)
        statements[query.rawValue] = made
        return made
    }

    /// Creates an error for a failed statement and detects a full disk.
    ///
    /// SQLite reports ENOSPC as full, but reports an exceeded quota or file size limit as an I/O error. For a failed
    /// commit, it does not report the system error.
    private func failure(_ code: CInt, systemError: CInt, _ statement: Statement) -> DatabaseError {
        let isFull = code & 0xFF == SQLITE_IOERR && DatabaseError.indicatesOutOfSpace(systemError)
        let error = DatabaseError(
            resultCode: isFull ? .SQLITE_FULL : ResultCode(rawValue: code),
            message: String(cString: sqlite3_errmsg(database.sqliteConnection)),
            sql: statement.sql)
        if sqlite3_get_autocommit(database.sqliteConnection) != 0 { rollbackError = error }
        return error
    }
}
