package import Foundation
import GRDBSQLite

/// Takes values from a statement's row, in the order of its columns.
package struct Columns {
    private let statement: OpaquePointer
    private let cipher: StoreCipher?
    private var index: CInt = -1

    /// - Parameter cipher: opens what is sealed.
    package init(_ statement: OpaquePointer, cipher: StoreCipher? = nil) {
        self.statement = statement
        self.cipher = cipher
    }

    package mutating func skip(_ count: CInt) { index += count }

    package mutating func integer() -> Int64 {
        index += 1
        return sqlite3_column_int64(statement, index)
    }

    package mutating func optionalInteger() -> Int64? { nextIsNull() ? nil : integer() }

    package mutating func flag() -> Bool { integer() != 0 }

    package mutating func bits() -> UInt64 { UInt64(bitPattern: integer()) }

    package mutating func text() -> String { optionalText() ?? "" }

    package mutating func optionalText() -> String? {
        index += 1
        // The bytes are counted, since a text may have NULs in it. Only NULL has no address.
        guard let start = sqlite3_column_text(statement, index) else { return nil }
        let count = Int(sqlite3_column_bytes(statement, index))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    /// A text that may be sealed, which is then opened.
    ///
    /// - Throws: `internal-error` naming the row when it does not open, or the key that it takes.
    package mutating func optionalText(_ column: String, of row: SealedRow) throws -> String? {
        index += 1
        guard let start = sqlite3_column_text(statement, index) else { return nil }
        let value = UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, index)))
        guard value.first == StoreCipher.mark else {
            // What is no text may be a sealed value whose mark was altered.
            guard let text = String(validating: value, as: UTF8.self) else { throw StoreDamage.value(column, of: row) }
            return text
        }
        guard let cipher else {
            throw StoreCipher.key(of: value).map { StoreDamage.missing($0) } ?? StoreDamage.value(column, of: row)
        }
        return try cipher.open(value, for: column, of: row)
    }

    package mutating func text(_ column: String, of row: SealedRow) throws -> String {
        try optionalText(column, of: row) ?? ""
    }

    /// The key that the next value is sealed with, if it is; the value is not passed over.
    package func keyOfNext() -> StoreKey.ID? {
        guard let start = sqlite3_column_blob(statement, index + 1) else { return nil }
        return StoreCipher.key(
            of: UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, index + 1))))
    }

    package mutating func optionalDate() -> Date? {
        guard !nextIsNull() else { return nil }
        index += 1
        return Date(timeIntervalSinceReferenceDate: sqlite3_column_double(statement, index))
    }

    package mutating func optionalUUID() -> UUID? {
        index += 1
        guard let start = sqlite3_column_blob(statement, index), sqlite3_column_bytes(statement, index) == 16 else {
            return nil
        }
        return UUID(uuid: start.loadUnaligned(as: uuid_t.self))
    }

    /// A value kept as its bytes; nothing where there are not as many.
    package mutating func bytes<Value: BitwiseCopyable>(as type: Value.Type) -> Value? {
        index += 1
        guard let start = sqlite3_column_blob(statement, index),
            Int(sqlite3_column_bytes(statement, index)) == MemoryLayout<Value>.size
        else { return nil }
        return start.loadUnaligned(as: Value.self)
    }

    /// A value of a row's key: a number, a text or sixteen bytes.
    package mutating func part() -> SealedRow.Part {
        switch sqlite3_column_type(statement, index + 1) {
        case SQLITE_INTEGER: .number(integer())
        case SQLITE_BLOB: optionalUUID().map { .bytes($0) } ?? .text("")
        default: .text(text())
        }
    }

    /// Whether the next value is NULL, which is then passed over.
    package mutating func nextIsNull() -> Bool {
        guard sqlite3_column_type(statement, index + 1) == SQLITE_NULL else { return false }
        index += 1
        return true
    }
}
