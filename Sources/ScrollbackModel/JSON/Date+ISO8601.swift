package import Foundation

extension Date {
    private static let iso8601 = ISO8601FormatStyle(includingFractionalSeconds: true)

    /// The date in ISO 8601 format, in UTC with milliseconds.
    package var iso8601: String {
        // The style truncates below a millisecond, and a Date can be slightly below the millisecond it represents.
        addingTimeInterval(0.000_2).formatted(Self.iso8601)
    }

    /// Parses an ISO 8601 date in the profile of RFC 3339, with or without a fraction, to the millisecond.
    ///
    /// The parser is stricter than Foundation's, which reads 30 February as 2 March and 25 hours as the next day.
    package init(iso8601 text: String, parameter: String) throws(ChatError) {
        guard let milliseconds = Self.milliseconds(iso8601: Array(text.utf8)) else {
            throw .invalidParameter(parameter, "must be an ISO 8601 time, for example 2026-11-21T10:00:00.000Z")
        }
        self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
    }

    private static func milliseconds(iso8601 text: [UInt8]) -> Int64? {
        func number(_ range: Range<Int>) -> Int64? {
            guard range.upperBound <= text.count else { return nil }
            var number: Int64 = 0
            for byte in text[range] {
                guard (0x30...0x39).contains(byte) else { return nil }
                number = number * 10 + Int64(byte - 0x30)
            }
            return number
        }
        func hasCharacter(_ character: Unicode.Scalar, at index: Int) -> Bool {
            index < text.count && text[index] == UInt8(ascii: character)
        }
        guard hasCharacter("-", at: 4), hasCharacter("-", at: 7), hasCharacter("T", at: 10), hasCharacter(":", at: 13),
            hasCharacter(":", at: 16),
            let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
            let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19),
            (1...12).contains(month), (1...daysIn(month, of: year)).contains(day), hour < 24, minute < 60, second < 60
        else { return nil }

        var index = 19
        var fraction = 0.0
        if hasCharacter(".", at: index) {
            let digits = text[(index + 1)...].prefix { (0x30...0x39).contains($0) }
            guard (1...18).contains(digits.count), let value = number(digits.indices) else { return nil }
            fraction = Double(value)
            for _ in digits { fraction /= 10 }
            index = digits.endIndex
        }
        var offset: Int64 = 0
        if hasCharacter("+", at: index) || hasCharacter("-", at: index) {
            guard hasCharacter(":", at: index + 3), let hours = number(index + 1..<index + 3), hours < 24,
                let minutes = number(index + 4..<index + 6), minutes < 60
            else { return nil }
            offset = (hours * 60 + minutes) * (hasCharacter("-", at: index) ? -1 : 1)
            index += 6
        } else if hasCharacter("Z", at: index) {
            index += 1
        } else {
            return nil
        }
        guard index == text.count else { return nil }
        let minutes = (days(toYear: year, month: month) + day - 1) * 24 * 60 + hour * 60 + minute - offset
        let time = (minutes * 60 + second) * 1000 + Int64((fraction * 1000).rounded())
        return years.contains(time) ? time : nil
    }

    /// The years 1 to 9999 in milliseconds since 1970; an offset or fraction must not exceed the range that can be
    /// written.
    private static let years: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_999

    private static func daysIn(_ month: Int64, of year: Int64) -> Int64 {
        let isLeapYear = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return [31, isLeapYear ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][Int(month) - 1]
    }

    /// The number of days from 1970 to the first of a month (Hinnant: "chrono-compatible low-level date algorithms").
    private static func days(toYear year: Int64, month: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}
