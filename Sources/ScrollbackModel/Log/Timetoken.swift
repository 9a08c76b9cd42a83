public import Foundation

/// A message's time: 100 ns ticks since 1970, strictly rising in a conversation, so no two messages share one.
///
/// The text form has 17 digits today and travels as a string, since JSON numbers lose such precision in JavaScript.
public struct Timetoken: RawRepresentable, Hashable, Comparable, Sendable {
    /// Ticks of 100 ns since the beginning of 1970 in UTC.
    public let rawValue: UInt64

    /// The time that many ticks of 100 ns after the beginning of 1970 in UTC.
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// A tick is 100 ns.
    public static let ticksPerMillisecond: UInt64 = 10_000

    /// The first tick of the date's millisecond; of a date that no number of ticks can say, the nearest one.
    public init(_ date: Date) {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
        let limit = UInt64.max / Self.ticksPerMillisecond
        rawValue =
            Self.ticksPerMillisecond
            * (milliseconds > 0 ? UInt64(exactly: milliseconds).map { min($0, limit) } ?? limit : 0)
    }

    /// Reads decimal digits.
    ///
    /// - Throws: `invalid-parameter` when it is not a number of 64 bits.
    public init(_ text: String, parameter: String = "timetoken") throws(ChatError) {
        guard let value = UInt64(digits: text) else {
            throw .invalidParameter(parameter, "must be a number of 100 ns ticks since 1970, 0...18446744073709551615")
        }
        rawValue = value
    }

    /// The time in milliseconds, rounded down.
    public var date: Date {
        Date(timeIntervalSince1970: Double(rawValue / Self.ticksPerMillisecond) / 1000)
    }

    /// Whether `a` is the earlier time.
    public static func < (a: Timetoken, b: Timetoken) -> Bool { a.rawValue < b.rawValue }

    /// The times of a date's millisecond, both ends included.
    package static func millisecond(of date: Date) -> ClosedRange<Timetoken> {
        let first = Timetoken(date)
        let (last, isPastTheEnd) = first.rawValue.addingReportingOverflow(ticksPerMillisecond - 1)
        return first...Timetoken(rawValue: isPastTheEnd ? .max : last)
    }

    /// The first time after both `now` and the last one given.
    package func advanced(to now: Timetoken) -> Timetoken {
        Timetoken(rawValue: max(now.rawValue, rawValue + 1))
    }
}

extension Timetoken: CustomStringConvertible {
    /// The decimal digits, as a timetoken travels.
    public var description: String { String(rawValue) }
}

extension UInt64 {
    /// Reads decimal digits and nothing else: no sign, not even of zero.
    init?(digits text: String) {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        self.init(text)
    }
}
