package import Foundation

extension Date {
    /// The date in ISO 8601 format, in UTC with milliseconds: 24 characters that ``init(iso8601:parameter:)`` reads as
    /// the same date.
    ///
    /// Dates outside of the years 1 to 9999 give the nearest date in these years. Foundation's formatter is not used,
    /// because it uses the Julian calendar before 1582.
    package var iso8601: String {
        String(unsafeUninitializedCapacity: Self.iso8601Length) { writeISO8601(to: $0) }
    }

    /// The number of bytes of the text form.
    static let iso8601Length = 24

    /// Writes the text form, and returns its length.
    func writeISO8601(to text: UnsafeMutableBufferPointer<UInt8>) -> Int {
        // A Date can be slightly below the millisecond that it represents.
        let exact = ((timeIntervalSince1970 + 0.000_2) * 1000).rounded(.down)
        // In this order, NaN becomes the lower bound.
        let nearest = min(max(Double(Self.years.lowerBound), exact), Double(Self.years.upperBound))
        let milliseconds = Int64(nearest) - Self.years.lowerBound
        let (days, time) = milliseconds.quotientAndRemainder(dividingBy: 86_400_000)
        let (year, month, day) = Self.civil(days: days + Self.years.lowerBound / 86_400_000)
        var end = 0
        func append(_ number: Int64, digits: Int, _ separator: Unicode.Scalar) {
            var rest = number
            for index in (end..<end + digits).reversed() {
                text[index] = UInt8(0x30 + rest % 10)
                rest /= 10
            }
            text[end + digits] = UInt8(ascii: separator)
            end += digits + 1
        }
        append(year, digits: 4, "-")
        append(month, digits: 2, "-")
        append(day, digits: 2, "T")
        append(time / 3_600_000, digits: 2, ":")
        append(time / 60_000 % 60, digits: 2, ":")
        append(time / 1000 % 60, digits: 2, ".")
        append(time % 1000, digits: 3, "Z")
        return end
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

    /// The year, month and day of a number of days since 1970 (Hinnant, as below).
    private static func civil(days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let days = days + 719_468
        let era = (days >= 0 ? days : days - 146_096) / 146_097
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
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
