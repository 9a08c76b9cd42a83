import ScrollbackModel
import ScrollbackSync

/// Which part of a log a timeline shows.
enum TimelineWindow: Hashable, Sendable {
    /// A point that is yet to be found; the newest messages meanwhile.
    case seeking(HistoryPoint)
    /// The newest messages, whatever comes.
    case newest(count: Int)
    /// These places of one log.
    case places(SeqRange, Epoch)

    init(at point: HistoryPoint, count: Int) {
        self = point == .latest ? .newest(count: count) : .seeking(point)
    }

    /// As many places on both sides of one.
    init(around place: LocalPlace, count: Int, in log: LogState) {
        guard place.newestOlder < log.head else {
            self = .newest(count: count)
            return
        }
        let lower = log.lowerEnd(of: count / 2, through: place.newestOlder)
        let upper = max(lower, log.upperEnd(of: count - count / 2, from: place.newestOlder + 1))
        // Whoever sees the newest message sees the next one too.
        self = upper == log.head ? .newest(count: count) : .places(lower...upper, log.epoch)
    }

    /// The window that shows `count` more places on one side of `shown`, and never more than `most`: what falls out does so
    /// on the other side.
    static func extending(
        _ shown: SeqRange, _ direction: GapRequest.Direction, by count: Int, most: Int, in log: LogState
    ) -> TimelineWindow {
        var lower = shown.lowerBound
        var upper = min(shown.upperBound, log.head)
        switch direction {
        case .older:
            lower = log.lowerEnd(of: count, through: lower - 1)
            upper = min(upper, log.upperEnd(of: most, from: lower))
        case .newer:
            upper = log.upperEnd(of: count, from: upper + 1)
            lower = max(lower, log.lowerEnd(of: most, through: upper))
        }
        guard lower <= upper else { return .newest(count: count) }
        // Where there is less than the window was made for, what comes is to find room.
        return upper == log.head
            ? .newest(count: max(most / 2, log.places(in: lower...upper))) : .places(lower...upper, log.epoch)
    }

    /// Where somebody looks who has not said what is on the screen.
    var eye: Seq? {
        if case .places(let places, _) = self { (places.lowerBound + places.upperBound) / 2 } else { nil }
    }

    /// The places to show now; nothing where there are none, or where the log these places were of is gone.
    ///
    /// - Parameters:
    ///   - visible: what is on the screen: new messages don't push it out of the window.
    ///   - size: how many messages the timeline was asked to hold; it holds up to twice as many.
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
    /// How many places of a range may hold something.
    func places(in range: SeqRange) -> Int {
        Int(range.upperBound - range.lowerBound + 1 - voids.clipped(to: range).count)
    }
}
