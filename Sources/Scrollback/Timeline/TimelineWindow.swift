import ScrollbackModel
import ScrollbackSync

/// The part of a log that a timeline shows.
enum TimelineWindow: Hashable, Sendable {
    /// A point whose position is not known yet.
    ///
    /// Until then the window shows the newest messages.
    case seeking(HistoryPoint)
    /// The newest messages, following new ones.
    case newest(count: Int)
    /// A range of sequence numbers of one log.
    case places(SeqRange, Epoch)

    init(at point: HistoryPoint, count: Int) {
        self = point == .latest ? .newest(count: count) : .seeking(point)
    }

    /// Creates a window with the same number of sequence numbers on both sides of a position.
    init(around place: LocalPosition, count: Int, in log: LogState) {
        guard place.newestOlder < log.head else {
            self = .newest(count: count)
            return
        }
        let lower = log.lowerEnd(of: count / 2, through: place.newestOlder)
        let upper = max(lower, log.upperEnd(of: count - count / 2, from: place.newestOlder + 1))
        // A window that contains the newest message follows new messages.
        self = upper == log.head ? .newest(count: count) : .places(lower...upper, log.epoch)
    }

    /// Returns this window with `count` more sequence numbers on one side of `shown`, and at most `maximum` in total.
    ///
    /// Sequence numbers beyond `maximum` are removed from the other side. If this window follows new messages, those
    /// that were stored since it was shown belong to it.
    func extended(
        _ shown: SeqRange, _ direction: GapRequest.Direction, by count: Int, maximum: Int, in log: LogState
    ) -> TimelineWindow {
        var lower = shown.lowerBound
        var upper = min(shown.upperBound, log.head)
        switch direction {
        case .older:
            lower = log.lowerEnd(of: count, through: lower - 1)
            if case .places = self {} else { upper = log.head }
            upper = min(upper, log.upperEnd(of: maximum, from: lower))
        case .newer:
            upper = log.upperEnd(of: count, from: upper + 1)
            lower = max(lower, log.lowerEnd(of: maximum, through: upper))
        }
        guard lower <= upper else { return .newest(count: count) }
        // If the log is shorter than the window, leave space for new messages.
        return upper == log.head
            ? .newest(count: max(maximum / 2, log.places(in: lower...upper))) : .places(lower...upper, log.epoch)
    }

    /// The assumed position of the user if the visible range is unknown.
    var focus: Seq? {
        if case .places(let places, _) = self { (places.lowerBound + places.upperBound) / 2 } else { nil }
    }

    /// Returns the sequence numbers to show; `nil` if there are none, or if the window's log no longer exists.
    ///
    /// - Parameters:
    ///   - visible: The visible range, which new messages must not push out of the window.
    ///   - size: The requested number of messages; the window holds up to twice as many.
    func places(in log: LogState, visible: SeqRange?, size: Int) -> SeqRange? {
        guard let range = log.range else { return nil }
        switch self {
        case .seeking: return log.lowerEnd(of: size, through: log.head)...log.head
        case .newest(let count):
            var lower = log.lowerEnd(of: count, through: log.head)
            if let visible, range.contains(visible.lowerBound) {
                lower = min(lower, log.lowerEnd(of: size / 4, through: visible.lowerBound - 1))
            }
            return lower...log.upperEnd(of: size * 2, from: lower)
        case .places(let places, let epoch): return epoch == log.epoch ? places.intersection(range) : nil
        }
    }
}

extension LogState {
    /// Returns the number of sequence numbers in a range that are not in a deleted range.
    func places(in range: SeqRange) -> Int {
        Int(range.upperBound - range.lowerBound + 1 - deletedRanges.clipped(to: range).count)
    }
}
