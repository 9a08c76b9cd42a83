/// A range of history to delete, from a point (inclusive) to another (exclusive).
///
/// `nil` is the end of the log.
package struct DeleteRange: Hashable, Sendable {
    package var from: HistoryPoint?
    package var to: HistoryPoint?

    package init(from: HistoryPoint?, to: HistoryPoint?) {
        self.from = from
        self.to = to
    }

    /// Whether the two points, without the log, show that the range begins after its end.
    package var isCrossed: Bool {
        if case (.seq(let from), .seq(let to)) = (from, to) { return from > to }
        guard let from = from?.time, let to = to?.time else { return false }
        return from > to
    }

    /// The whole history.
    package static let all = DeleteRange(from: nil, to: nil)
}

extension HistoryPoint {
    /// The time of a point that is a time.
    fileprivate var time: Timetoken? {
        switch self {
        case .timetoken(let time): time
        case .date(let date): Timetoken.millisecond(of: date).lowerBound
        default: nil
        }
    }
}
