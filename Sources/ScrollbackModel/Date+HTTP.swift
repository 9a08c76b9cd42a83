package import Foundation

extension Date {
    /// Parses an HTTP date with a precision of seconds: `Mon, 23 Nov 2026 09:00:00 GMT` (RFC 9110, section 5.6.7).
    package init?(http text: String) {
        // The formatter ends the process if it compares a character of several scalars, such as an accented letter.
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
        guard let date = formatter.date(from: text) else { return nil }
        self = date
    }
}
