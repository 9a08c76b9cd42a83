package import Foundation
import GRDBSQLite

/// Hands values to a statement, in the order of its parameters.
package struct Parameters {
    private let statement: OpaquePointer
    private var index: CInt = 0

    /// SQLite makes its own copy.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    package init(_ statement: OpaquePointer) {
        self.statement = statement
    }

    package mutating func add(_ number: Int64) {
        index += 1
        sqlite3_bind_int64(statement, index, number)
    }

    package mutating func add(_ number: Int64?) {
        if let number { add(number) } else { addNull() }
    }

    package mutating func add(_ flag: Bool) { add(Int64(flag ? 1 : 0)) }

    /// 64 bits without a sign, as those of a number that has one.
    package mutating func add(bits: UInt64) { add(Int64(bitPattern: bits)) }

    package mutating func add(_ text: String) {
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

    package mutating func add(_ text: String?) {
        if let text { add(text) } else { addNull() }
    }

    /// A date to its last bit.
    package mutating func add(_ date: Date?) {
        guard let date else { return addNull() }
        index += 1
        sqlite3_bind_double(statement, index, date.timeIntervalSinceReferenceDate)
    }

    package mutating func add(_ uuid: UUID?) {
        guard let uuid else { return addNull() }
        index += 1
        withUnsafeBytes(of: uuid.uuid) {
            _ = sqlite3_bind_blob(statement, index, $0.baseAddress, CInt($0.count), Self.copied)
        }
    }

    /// A value as its bytes.
    package mutating func add(bytesOf value: some BitwiseCopyable) {
        index += 1
        withUnsafeBytes(of: value) {
            _ = sqlite3_bind_blob(statement, index, $0.baseAddress, CInt($0.count), Self.copied)
        }
    }

    private mutating func addNull() {
        index += 1
        sqlite3_bind_null(statement, index)
    }
}
