/// How long messages are kept.
public enum RetentionPolicy: Hashable, Sendable {
    /// This many days, 1...36,500; then they are gone from history, counts and actions, for everyone.
    ///
    /// A message goes within the hour after its last day has ended.
    case days(Int)
    /// For ever.
    case forever

    /// The longest number of days, a hundred years.
    package static let maximumDays = 36_500

    /// - Throws: `invalid-parameter` when the days are out of range.
    package func validated(_ parameter: String = "retentionDays") throws(ChatError) -> RetentionPolicy {
        if case .days(let days) = self, !(1...Self.maximumDays).contains(days) {
            throw .invalidParameter(
                parameter, "must be in 1...\(Self.maximumDays), or \"forever\"", limit: Self.maximumDays)
        }
        return self
    }

    /// As a number for storage: the days, 0 for ever.
    package var stored: Int64 {
        switch self {
        case .days(let days): Int64(days)
        case .forever: 0
        }
    }

    package init(stored: Int64) {
        self = stored > 0 ? .days(Int(stored)) : .forever
    }
}
