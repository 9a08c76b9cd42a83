package import Foundation
import GRDBSQLite

/// Takes values from a statement's row, in the order of its columns.
package struct Columns {
    private let statement: OpaquePointer
    private var index: CInt = -1

    package init(_ statement: OpaquePointer) {
        self.statement = statement
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

    /// Whether the next value is NULL, which is then passed over.
    package mutating func nextIsNull() -> Bool {
        guard sqlite3_column_type(statement, index + 1) == SQLITE_NULL else { return false }
        index += 1
        return true
    }
}
