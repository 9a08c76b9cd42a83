public import Foundation

/// A message's time: 100 ns ticks since 1970, strictly rising in a conversation, so no two messages share one.
///
/// The text form has 17 digits today and travels as a string, since JSON numbers lose such precision in JavaScript.
public struct Timetoken: RawRepresentable, Hashable, Comparable, Sendable {
    public let rawValue: UInt64

    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    public static let ticksPerMillisecond: UInt64 = 10_000

    /// The first tick of the date's millisecond.
    public init(_ date: Date) {
        rawValue = UInt64(max(0, (date.timeIntervalSince1970 * 1000).rounded())) * Self.ticksPerMillisecond
    }

    /// Reads decimal digits.
    ///
    /// - Throws: `invalid-parameter` when it is not a number of 64 bits.
    public init(_ text: String, parameter: String = "timetoken") throws(ChatError) {
        guard let value = UInt64(text), text.first != "+" else {
            throw .invalidParameter(parameter, "must be a number of 100 ns ticks since 1970, 0...18446744073709551615")
        }
        rawValue = value
    }

    /// The time in milliseconds, rounded down.
    public var date: Date {
        Date(timeIntervalSince1970: Double(rawValue / Self.ticksPerMillisecond) / 1000)
    }

    public static func < (a: Timetoken, b: Timetoken) -> Bool { a.rawValue < b.rawValue }

    /// The first time after both `now` and the last one given.
    package func advanced(to now: Timetoken) -> Timetoken {
        Timetoken(rawValue: max(now.rawValue, rawValue + 1))
    }
}

extension Timetoken: CustomStringConvertible {
    public var description: String { String(rawValue) }
}
