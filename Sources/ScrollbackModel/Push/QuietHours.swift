public import Foundation

/// The hours of a day in which somebody wants fewer pushes, or none; what is unread is counted all the same.
///
/// They begin at ``start`` and end before ``end`` by the clock of ``timeZone``; where the end is the earlier of the two they
/// last past midnight, and where both are the same all day.
public struct QuietHours: Hashable, Sendable {
    /// A time of day, in whole minutes.
    public struct Time: Hashable, Sendable, Comparable, CustomStringConvertible {
        /// 0...1439, from midnight.
        public let minute: Int

        /// - Throws: `invalid-parameter` when it is not a time of day.
        public init(hour: Int, minute: Int = 0) throws(ChatError) {
            guard (0...23).contains(hour), (0...59).contains(minute) else {
                throw .invalidParameter("time", "must be a time of day, 00:00 to 23:59")
            }
            self.minute = hour * 60 + minute
        }

        /// Reads `HH:MM`.
        ///
        /// - Throws: `invalid-parameter` when it is not one.
        public init(_ text: String, parameter: String = "time") throws(ChatError) {
            let parts = text.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count == 2, parts.allSatisfy({ $0.utf8.count == 2 && $0.utf8.allSatisfy(Self.isDigit) }),
                let hour = Int(parts[0]), let minute = Int(parts[1]), let time = try? Time(hour: hour, minute: minute)
            else { throw .invalidParameter(parameter, "must be a time of day as HH:MM, 00:00 to 23:59") }
            self = time
        }

        private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

        /// Earlier in the day.
        public static func < (left: Time, right: Time) -> Bool { left.minute < right.minute }

        /// `HH:MM`.
        public var description: String {
            let parts = [minute / 60, minute % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
            return parts.joined(separator: ":")
        }
    }

    /// When they begin.
    public var start: Time
    /// When they are over.
    public var end: Time
    /// Whose clock it is, by its name in the IANA database (`Europe/Paris`).
    public var timeZone: String
    /// Whether messages that mention the person are pushed still.
    public var allowsMentions: Bool

    /// Hours from a time of day to another.
    ///
    /// - Throws: `invalid-parameter` when there is no such time zone.
    public init(
        from start: Time, to end: Time, timeZone: String = TimeZone.current.identifier, allowsMentions: Bool = false
    ) throws(ChatError) {
        guard TimeZone(identifier: timeZone) != nil else {
            throw .invalidParameter("quietHours.timeZone", "must be a name of the IANA time zone database")
        }
        self.start = start
        self.end = end
        self.timeZone = timeZone
        self.allowsMentions = allowsMentions
    }

    /// What passes while they last.
    var level: NotificationLevel { allowsMentions ? .mentions : .none }

    /// Whether they last at a time.
    ///
    /// A time zone that this machine no longer knows has no quiet hours.
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
