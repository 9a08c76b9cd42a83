public import Foundation

/// The hours of a day in which a user gets fewer pushes or none; unread messages are counted nevertheless.
///
/// The hours start at ``start`` and end before ``end`` in the time zone ``timeZone``. If the end is earlier than the
/// start, they extend past midnight. If both are equal, they last all day.
public struct QuietHours: Hashable, Sendable {
    /// A time of day in whole minutes.
    public struct Time: Hashable, Sendable, Comparable, CustomStringConvertible {
        /// The minutes since midnight, 0...1439.
        public let minute: Int

        /// Creates a time of day.
        ///
        /// - Throws: `invalid-parameter` if it is out of range.
        public init(hour: Int, minute: Int = 0) throws(ChatError) {
            guard (0...23).contains(hour), (0...59).contains(minute) else {
                throw .invalidParameter("time", "must be a time of day, 00:00 to 23:59")
            }
            self.minute = hour * 60 + minute
        }

        /// Parses `HH:MM`.
        ///
        /// - Throws: `invalid-parameter` if the text is not a time of day.
        public init(_ text: String, parameter: String = "time") throws(ChatError) {
            let parts = text.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count == 2, parts.allSatisfy({ $0.utf8.count == 2 && $0.utf8.allSatisfy(Self.isDigit) }),
                let hour = Int(parts[0]), let minute = Int(parts[1]), let time = try? Time(hour: hour, minute: minute)
            else { throw .invalidParameter(parameter, "must be a time of day as HH:MM, 00:00 to 23:59") }
            self = time
        }

        private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

        /// Returns whether a time is earlier in the day.
        public static func < (left: Time, right: Time) -> Bool { left.minute < right.minute }

        /// The text form `HH:MM`.
        public var description: String {
            let parts = [minute / 60, minute % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
            return parts.joined(separator: ":")
        }
    }

    /// The start of the quiet hours.
    public var start: Time
    /// The end of the quiet hours.
    public var end: Time
    /// The name of the time zone in the IANA database (`Europe/Paris`).
    public var timeZone: String
    /// Whether messages that mention the user are still pushed.
    public var allowsMentions: Bool

    /// Creates quiet hours.
    ///
    /// - Throws: `invalid-parameter` if the time zone does not exist.
    public init(
        from start: Time, to end: Time, timeZone: String = TimeZone.current.identifier, allowsMentions: Bool = false
    ) throws(ChatError) {
        guard TimeZone(identifier: timeZone) != nil else {
            throw .invalidParameter("quietHours.timeZone", "must be a name from the IANA time zone database")
        }
        self.start = start
        self.end = end
        self.timeZone = timeZone
        self.allowsMentions = allowsMentions
    }

    /// The notification level during the quiet hours.
    var level: NotificationLevel { allowsMentions ? .mentions : .none }

    /// Returns whether the quiet hours include a date.
    ///
    /// If the system doesn't know the time zone, the result is `false`.
    public func contains(_ date: Date) -> Bool {
        guard let zone = TimeZone(identifier: timeZone) else { return false }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        let parts = calendar.dateComponents([.hour, .minute], from: date)
        let now = (parts.hour ?? 0) * 60 + (parts.minute ?? 0)
        if start == end { return true }
        return start < end
            ? (start.minute..<end.minute).contains(now) : now >= start.minute || now < end.minute
    }
}
