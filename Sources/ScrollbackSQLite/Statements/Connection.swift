import Foundation
import GRDB
import GRDBSQLite

/// One connection's prepared statements, each compiled when it is first used.
///
/// Rows go to and from SQLite's C functions directly: for the few statements of the hot path that halves the work of
/// GRDB's general arguments and rows.
///
/// `@unchecked Sendable`: it is used only while GRDB lends out its database, which it does to one thread at a time.
final class Connection: @unchecked Sendable {
    let database: Database
    private var statements: [Statement?] = Array(repeating: nil, count: Query.allCases.count)
    /// Set when SQLite gave a transaction up by itself: whatever came after would be outside of it.
    private var loss: DatabaseError?

    init(_ database: Database) {
        self.database = database
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
        let pointer = statement.sqliteStatement
        defer { sqlite3_reset(pointer) }
        var parameters = Parameters(pointer)
        bind(&parameters)
        while true {
            errno = 0
            switch sqlite3_step(pointer) {
            case SQLITE_ROW:
                var columns = Columns(pointer)
                guard try row(&columns) else { return }
            case SQLITE_DONE:
                return
            case let code:
                throw failure(code, systemError: errno, statement)
            }
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

/// Hands values to a statement, in the order of its parameters.
struct Parameters {
    private let statement: OpaquePointer
    private var index: CInt = 0

    /// SQLite makes its own copy.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    init(_ statement: OpaquePointer) {
        self.statement = statement
    }

    mutating func add(_ number: Int64) {
        index += 1
        sqlite3_bind_int64(statement, index, number)
    }

    mutating func add(_ number: Int64?) {
        if let number { add(number) } else { addNull() }
    }

    mutating func add(_ flag: Bool) { add(Int64(flag ? 1 : 0)) }

    /// 64 bits without a sign, as those of a number that has one.
    mutating func add(bits: UInt64) { add(Int64(bitPattern: bits)) }

    mutating func add(_ text: String) {
        index += 1
        var text = text
        text.withUTF8 { utf8 in
            // Without an address SQLite would take it for NULL, and an empty text is something else.
            guard let start = utf8.baseAddress, !utf8.isEmpty else {
                sqlite3_bind_text(statement, index, "", 0, Self.copied)
                return
            }
            start.withMemoryRebound(to: CChar.self, capacity: utf8.count) {
                _ = sqlite3_bind_text(statement, index, $0, CInt(utf8.count), Self.copied)
            }
        }
    }

    mutating func add(_ text: String?) {
        if let text { add(text) } else { addNull() }
    }

    /// A date to its last bit.
    mutating func add(_ date: Date?) {
        guard let date else { return addNull() }
        index += 1
        sqlite3_bind_double(statement, index, date.timeIntervalSinceReferenceDate)
    }

    mutating func add(_ uuid: UUID?) {
        guard let uuid else { return addNull() }
        index += 1
        withUnsafeBytes(of: uuid.uuid) {
            _ = sqlite3_bind_blob(statement, index, $0.baseAddress, CInt($0.count), Self.copied)
        }
    }

    private mutating func addNull() {
        index += 1
        sqlite3_bind_null(statement, index)
    }
}

/// Takes values from a statement's row, in the order of its columns.
struct Columns {
    private let statement: OpaquePointer
    private var index: CInt = -1

    init(_ statement: OpaquePointer) {
        self.statement = statement
    }

    mutating func skip(_ count: CInt) { index += count }

    mutating func integer() -> Int64 {
        index += 1
        return sqlite3_column_int64(statement, index)
    }

    mutating func optionalInteger() -> Int64? { nextIsNull() ? nil : integer() }

    mutating func flag() -> Bool { integer() != 0 }

    mutating func bits() -> UInt64 { UInt64(bitPattern: integer()) }

    mutating func text() -> String { optionalText() ?? "" }

    mutating func optionalText() -> String? {
        index += 1
        // The bytes are counted, since a text may have NULs in it. Only NULL has no address.
        guard let start = sqlite3_column_text(statement, index) else { return nil }
        let count = Int(sqlite3_column_bytes(statement, index))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    mutating func optionalDate() -> Date? {
        guard !nextIsNull() else { return nil }
        index += 1
        return Date(timeIntervalSinceReferenceDate: sqlite3_column_double(statement, index))
    }

    mutating func optionalUUID() -> UUID? {
        index += 1
        guard let start = sqlite3_column_blob(statement, index), sqlite3_column_bytes(statement, index) == 16 else {
            return nil
        }
        return UUID(uuid: start.loadUnaligned(as: uuid_t.self))
    }

    /// Whether the next value is NULL, which is then passed over.
    private mutating func nextIsNull() -> Bool {
        guard sqlite3_column_type(statement, index + 1) == SQLITE_NULL else { return false }
        index += 1
        return true
    }
}
