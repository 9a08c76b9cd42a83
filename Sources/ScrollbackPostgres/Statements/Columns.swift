import CPostgreSQL
import Foundation
import ScrollbackModel

/// Reads the values of a row in the order of its columns.
struct Columns {
    private let result: OpaquePointer
    private let row: CInt
    private var index: CInt = -1

    /// Creates a reader for a row of a result in binary format.
    init(_ result: OpaquePointer, row: CInt) {
        self.result = result
        self.row = row
    }

    /// Returns the bytes of the next value; `nil` for NULL.
    private mutating func next() -> UnsafeRawBufferPointer? {
        index += 1
        guard PQgetisnull(result, row, index) == 0 else { return nil }
        return UnsafeRawBufferPointer(
            start: PQgetvalue(result, row, index), count: Int(PQgetlength(result, row, index)))
    }

    /// Reads an integer of any width, or a flag; 0 for NULL.
    mutating func integer() -> Int64 { optionalInteger() ?? 0 }

    mutating func optionalInteger() -> Int64? {
        guard let bytes = next() else { return nil }
        // Big-endian and signed.
        let start: Int64 = bytes.first.map { $0 & 0x80 != 0 ? -1 : 0 } ?? 0
        return bytes.reduce(start) { $0 << 8 | Int64($1) }
    }

    mutating func flag() -> Bool { integer() != 0 }

    mutating func bits() -> UInt64 { UInt64(bitPattern: integer()) }

    mutating func text() -> String { optionalText() ?? "" }

    mutating func optionalText() -> String? { next().map { String(decoding: $0, as: UTF8.self) } }

    /// Reads a text of a column whose texts may be encrypted.
    ///
    /// - Throws: `internal-error` naming the column if the value is not UTF-8.
    mutating func optionalUTF8(_ column: String) throws -> String? {
        guard let bytes = next() else { return nil }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw Self.unreadable(column) }
        return text
    }

    mutating func utf8(_ column: String) throws -> String { try optionalUTF8(column) ?? "" }

    mutating func optionalDate() -> Date? {
        guard let bytes = next(), bytes.count == 8 else { return nil }
        let bits = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
        return Date(timeIntervalSinceReferenceDate: Double(bitPattern: bits))
    }

    mutating func bytes() -> [UInt8] { optionalBytes() ?? [] }

    mutating func optionalBytes() -> [UInt8]? { next().map { Array($0) } }

    mutating func optionalUUID() -> UUID? { bytes(as: uuid_t.self).map { UUID(uuid: $0) } }

    /// Reads a value that is stored as its bytes; `nil` if the number of bytes differs.
    mutating func bytes<Value: BitwiseCopyable>(as type: Value.Type) -> Value? {
        guard let bytes = next(), bytes.count == MemoryLayout<Value>.size else { return nil }
        return bytes.loadUnaligned(as: Value.self)
    }

    /// Skips values.
    mutating func skip(_ count: Int) { index += CInt(count) }

    /// Whether the next value is NULL.
    var isNextNull: Bool { PQgetisnull(result, row, index + 1) != 0 }

    /// Returns whether the next value is NULL, and advances if it is.
    mutating func skipIfNull() -> Bool {
        guard isNextNull else { return false }
        index += 1
        return true
    }
}
