/// How long messages are stored.
public enum RetentionPolicy: Hashable, Sendable {
    /// This number of days, 1...36,500.
    ///
    /// Within an hour after the last day, the message disappears for everyone from history, counts and actions.
    case days(Int)
    /// Messages are never removed.
    case forever

    /// The maximum number of days, a hundred years.
    package static let maximumDays = 36_500

    /// Returns the policy if it is valid.
    ///
    /// - Throws: `invalid-parameter` if the number of days is out of range.
    package func validated(_ parameter: String = "retentionDays") throws(ChatError) -> RetentionPolicy {
        if case .days(let days) = self, !(1...Self.maximumDays).contains(days) {
            throw .invalidParameter(
                parameter, "must be in 1...\(Self.maximumDays), or \"forever\"", limit: Self.maximumDays)
        }
        return self
    }

    /// The policy as a number for storage: the days, or 0 for forever.
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
