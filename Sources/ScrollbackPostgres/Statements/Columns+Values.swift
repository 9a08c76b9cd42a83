import Foundation
import ScrollbackModel

extension Columns {
    mutating func userID() -> UserID { UserID(known: text()) }

    mutating func optionalUserID() -> UserID? { optionalText().map { UserID(known: $0) } }

    mutating func timetoken() -> Timetoken { Timetoken(rawValue: bits()) }

    mutating func date() -> Date { optionalDate() ?? Date(timeIntervalSinceReferenceDate: 0) }

    mutating func uuid(_ column: String) throws -> UUID {
        guard let value = optionalUUID() else { throw Self.unreadable(column) }
        return value
    }

    mutating func optionalMessageID() -> MessageID? { optionalUUID().map { MessageID($0) } }

    /// Reads two columns with the ends of a range.
    mutating func range() throws -> SeqRange {
        let (lower, upper) = (integer(), integer())
        guard lower <= upper else { throw Self.unreadable("upper") }
        return lower...upper
    }

    /// Reads JSON text of a column whose texts may be encrypted.
    mutating func json(_ column: String) throws -> RawJSON? {
        try optionalUTF8(column).map { RawJSON(known: $0) }
    }

    mutating func enumValue<Value: RawRepresentable<String>>(_ column: String) throws -> Value {
        guard let value = Value(rawValue: text()) else { throw Self.unreadable(column) }
        return value
    }

    mutating func enumValue<Value: RawRepresentable<Int64>>(_ column: String) throws -> Value {
        guard let value = Value(rawValue: integer()) else { throw Self.unreadable(column) }
        return value
    }

    static func unreadable(_ column: String) -> ChatError {
        ChatError(.internalError, "The store has a value in column \(column) that this version can't read.")
    }
}
