public import Foundation

/// The time of a message in 100 ns ticks since 1970.
///
/// Timetokens strictly increase in a conversation, so no two messages share one. The text form currently has 17 digits.
/// On the wire it is a string, because JSON numbers lose precision in JavaScript.
public struct Timetoken: RawRepresentable, Hashable, Comparable, Sendable {
    /// The number of 100 ns ticks since the start of 1970 in UTC.
    public let rawValue: UInt64

    /// Creates a timetoken from a number of 100 ns ticks since the start of 1970 in UTC.
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// The number of ticks in a millisecond.
    public static let ticksPerMillisecond: UInt64 = 10_000

    /// Creates a timetoken for the first tick of the date's millisecond.
    ///
    /// Dates outside of the range give the nearest timetoken.
    public init(_ date: Date) {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
        let limit = UInt64.max / Self.ticksPerMillisecond
        rawValue =
            Self.ticksPerMillisecond
            * (milliseconds > 0 ? UInt64(exactly: milliseconds).map { min($0, limit) } ?? limit : 0)
    }

    /// Parses decimal digits.
    ///
    /// - Throws: `invalid-parameter` if the text is not a 64-bit number.
    public init(_ text: String, parameter: String = "timetoken") throws(ChatError) {
        guard let value = UInt64(digits: text) else {
            throw .invalidParameter(parameter, "must be a number of 100 ns ticks since 1970, 0...18446744073709551615")
        }
        rawValue = value
    }

    /// The time, rounded down to milliseconds.
    public var date: Date {
        Date(timeIntervalSince1970: Double(rawValue / Self.ticksPerMillisecond) / 1000)
    }

    /// Returns whether `a` is the earlier time.
    public static func < (a: Timetoken, b: Timetoken) -> Bool { a.rawValue < b.rawValue }

    /// Returns the timetokens of a date's millisecond, including both ends.
    package static func millisecond(of date: Date) -> ClosedRange<Timetoken> {
        let first = Timetoken(date)
        let (last, overflows) = first.rawValue.addingReportingOverflow(ticksPerMillisecond - 1)
        return first...Timetoken(rawValue: overflows ? .max : last)
    }

    /// Returns the first timetoken that is not before `now` and is after this one.
    package func advanced(to now: Timetoken) -> Timetoken {
        Timetoken(rawValue: max(now.rawValue, rawValue + 1))
    }
}

extension Timetoken: CustomStringConvertible {
    /// The decimal digits, the wire form.
    public var description: String { String(rawValue) }
}

extension UInt64 {
    /// Parses decimal digits only; a sign is not allowed.
    init?(digits text: String) {
        var text = text
        let number = text.withUTF8 { utf8 -> UInt64? in
            var number: UInt64 = 0
            for byte in utf8 {
                guard (0x30...0x39).contains(byte) else { return nil }
                let (tens, overflows) = number.multipliedReportingOverflow(by: 10)
                let (sum, exceeds) = tens.addingReportingOverflow(UInt64(byte - 0x30))
                guard !overflows, !exceeds else { return nil }
                number = sum
            }
            return utf8.isEmpty ? nil : number
        }
        guard let number else { return nil }
        self = number
    }
}
