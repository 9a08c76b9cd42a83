package import Foundation
import GRDBSQLite

/// Reads the values of a row in the order of its columns.
package struct Columns {
    private let statement: OpaquePointer
    private let cipher: StoreCipher?
    private var index: CInt = -1

    /// Creates a reader for the current row of a statement.
    ///
    /// - Parameter cipher: Decrypts encrypted values.
    package init(_ statement: OpaquePointer, cipher: StoreCipher? = nil) {
        self.statement = statement
        self.cipher = cipher
    }

    /// Starts over at the first column, for the next row.
    package mutating func rewind() { index = -1 }

    package mutating func skip(_ count: CInt) { index += count }

    package mutating func integer() -> Int64 {
        index += 1
        return sqlite3_column_int64(statement, index)
    }

    package mutating func optionalInteger() -> Int64? { skipIfNull() ? nil : integer() }

    package mutating func flag() -> Bool { integer() != 0 }

    package mutating func bits() -> UInt64 { UInt64(bitPattern: integer()) }

    package mutating func text() -> String { optionalText() ?? "" }

    package mutating func optionalText() -> String? {
        index += 1
        // Use the byte count, because a text can contain NULs. Only NULL has no address.
        guard let start = sqlite3_column_text(statement, index) else { return nil }
        let count = Int(sqlite3_column_bytes(statement, index))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    /// Reads a text and decrypts it if it is encrypted.
    ///
    /// - Throws: `internal-error` naming the row or the missing key if the value can't be decrypted.
    package mutating func optionalText(
        _ column: String, of row: @autoclosure () -> EncryptedRow
    ) throws -> String? {
        index += 1
        guard let start = sqlite3_column_text(statement, index) else { return nil }
        let value = UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, index)))
        guard value.first == StoreCipher.marker else {
            // Invalid UTF-8 can be an encrypted value whose marker was altered.
            guard let text = String(validating: value, as: UTF8.self) else {
                throw DecryptionError.invalidValue(column, of: row())
            }
            return text
        }
        guard let cipher else {
            throw StoreCipher.key(of: value).map { DecryptionError.missingKey($0) }
                ?? DecryptionError.invalidValue(column, of: row())
        }
        return try cipher.decrypt(value, for: column, of: row())
    }

    package mutating func text(_ column: String, of row: @autoclosure () -> EncryptedRow) throws -> String {
        try optionalText(column, of: row()) ?? ""
    }

    /// Returns the key of the next value if it is encrypted, without advancing.
    package func keyIDOfNextValue() -> StoreKey.ID? {
        guard let start = sqlite3_column_blob(statement, index + 1) else { return nil }
        return StoreCipher.key(
            of: UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, index + 1))))
    }

    package mutating func optionalNumber() -> Double? {
        guard !skipIfNull() else { return nil }
        index += 1
        return sqlite3_column_double(statement, index)
    }

    package mutating func optionalDate() -> Date? {
        optionalNumber().map { Date(timeIntervalSinceReferenceDate: $0) }
    }

    package mutating func optionalUUID() -> UUID? {
        index += 1
        guard let start = sqlite3_column_blob(statement, index), sqlite3_column_bytes(statement, index) == 16 else {
            return nil
        }
        return UUID(uuid: start.loadUnaligned(as: uuid_t.self))
    }

    /// Reads a value that is stored as its bytes; `nil` if the number of bytes differs.
    package mutating func bytes<Value: BitwiseCopyable>(as type: Value.Type) -> Value? {
        index += 1
        guard let start = sqlite3_column_blob(statement, index),
            Int(sqlite3_column_bytes(statement, index)) == MemoryLayout<Value>.size
        else { return nil }
        return start.loadUnaligned(as: Value.self)
    }

    /// Reads the bytes of a text or of a blob.
    package mutating func optionalBytes() -> [UInt8]? {
        guard !skipIfNull() else { return nil }
        index += 1
        let start = sqlite3_column_blob(statement, index)
        return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, index))))
    }

    /// Reads a value of a row's key: an integer, a text, or a UUID of 16 bytes.
    package mutating func keyPart() -> EncryptedRow.Part {
        switch sqlite3_column_type(statement, index + 1) {
        case SQLITE_INTEGER: .number(integer())
        case SQLITE_BLOB: optionalUUID().map { .bytes($0) } ?? .text("")
        default: .text(text())
        }
    }

    /// Returns whether the next value is NULL, and advances if it is.
    package mutating func skipIfNull() -> Bool {
        guard sqlite3_column_type(statement, index + 1) == SQLITE_NULL else { return false }
        index += 1
        return true
    }
}
