import Foundation
import GRDB
import GRDBSQLite
import StoreFiles

/// One connection's prepared statements, each compiled when it is first used.
///
/// `@unchecked Sendable`: it is used only while GRDB lends out its database, which it does to one thread at a time.
final class Connection: @unchecked Sendable {
    let database: Database
    /// Seals and opens texts, where the store has keys.
    let cipher: StoreCipher?
    private var statements: [Statement?] = Array(repeating: nil, count: Query.allCases.count)
    /// Set when SQLite gave a transaction up by itself: whatever came after would be outside of it.
    private var loss: DatabaseError?

    init(_ database: Database, cipher: StoreCipher? = nil) {
        self.database = database
        self.cipher = cipher
    }

    /// Runs a statement, handing over each row.
    ///
    /// - Parameter row: answers whether to go on.
    func run(
        _ query: Query, bind: (inout Parameters) -> Void = { _ in }, row: (inout Columns) throws -> Bool = { _ in true }
    ) throws {
        try run(try statement(query), bind: bind, row: row)
    }

    /// Runs a statement that is not kept: there are too many like it.
    func run(
        once sql: String, bind: (inout Parameters) -> Void = { _ in }, row: (inout Columns) throws -> Bool
    ) throws {
        try run(try database.makeStatement(sql: sql), bind: bind, row: row)
    }

    func run(
        _ statement: Statement, bind: (inout Parameters) -> Void = { _ in }, row: (inout Columns) throws -> Bool
    ) throws {
        if let loss { throw loss }
        try statement.run(cipher: cipher, bind: bind, row: row) { code, systemError in
            failure(code, systemError: systemError, statement)
        }
    }

    /// The first row's value.
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

    /// The values of at most `limit` rows.
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

    /// Ends a transaction that failed, if SQLite has not done so itself.
    func rollBack() {
        loss = nil
        guard sqlite3_get_autocommit(database.sqliteConnection) == 0 else { return }
        try? run(.rollback)
    }

    /// How many rows the last statement changed.
    var changes: Int { Int(sqlite3_changes(database.sqliteConnection)) }

    /// How many steps of SQLite's machine the kept statements have taken.
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

    /// SQLite itself calls a write that found no room "full" where the system said ENOSPC, and an I/O error where a quota or
    /// a limit on the file's size was in the way; and of a commit that failed it does not tell what the system said.
    private func failure(_ code: CInt, systemError: CInt, _ statement: Statement) -> DatabaseError {
        let isFull = code & 0xFF == SQLITE_IOERR && DatabaseError.meansOutOfSpace(systemError)
        let error = DatabaseError(
            resultCode: isFull ? .SQLITE_FULL : ResultCode(rawValue: code),
            message: String(cString: sqlite3_errmsg(database.sqliteConnection)),
            sql: statement.sql)
        if sqlite3_get_autocommit(database.sqliteConnection) != 0 { loss = error }
        return error
    }
}
