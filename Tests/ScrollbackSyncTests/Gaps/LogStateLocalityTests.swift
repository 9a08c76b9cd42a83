import ScrollbackModel
import ScrollbackSync
import Testing

/// Checks that a store may load only the ranges near an event. The result must be the same as with all ranges loaded.
@Suite("Partially loaded logs")
struct LogStateLocalityTests {
    private enum Event {
        case message(Message)
        case change(LogChange)
        case head(LogHead)
        case page(LogPage)

        func apply(to state: inout LogState) -> LogEdit {
            switch self {
            case .message(let message): state.apply(message: message)
            case .change(let change): state.apply(change: change, in: state.epoch)
            case .head(let head): state.apply(head: head)
            case .page(let page): state.apply(page: page)
            }
        }
    }

    @Test("An event affects only ranges next to its sequence numbers or above the replayed part")
    func onlyNearRangesMatter() {
        var random = SplitMix64(seed: 5)
        for _ in 0..<200 {
            var state = LogState(adopting: log(60))
            for _ in 0..<30 {
                let (event, places) = Self.event(for: state, &random)
                let (full, part) = (Self.apply(event, to: state), Self.apply(event, to: state, near: places))
                #expect(full.state == part.state)
                #expect(full.edit == part.edit)
                state = full.state
            }
        }
    }

    private static func apply(_ event: Event, to state: LogState) -> (state: LogState, edit: LogEdit) {
        var state = state
        let edit = event.apply(to: &state)
        return (state, edit)
    }

    private static func apply(
        _ event: Event, to state: LogState, near places: SeqRange
    ) -> (state: LogState, edit: LogEdit) {
        let near = places.lowerBound - 1...places.upperBound + 1
        let gaps = state.gaps.ranges.filter { $0.intersection(near) != nil || $0.upperBound > state.replayed }
        let deletedRanges = state.deletedRanges.ranges.filter { $0.intersection(near) != nil }
        var result = state
        result.gaps = SeqRangeSet(gaps)
        result.deletedRanges = SeqRangeSet(deletedRanges)
        let edit = event.apply(to: &result)
        result.gaps.formUnion(SeqRangeSet(state.gaps.ranges.filter { !gaps.contains($0) }))
        result.deletedRanges.formUnion(SeqRangeSet(state.deletedRanges.ranges.filter { !deletedRanges.contains($0) }))
        return (result, edit)
    }

    /// A random event and the sequence numbers that it refers to.
    private static func event(for state: LogState, _ random: inout SplitMix64) -> (Event, SeqRange) {
        let next = state.head + 1
        let low = 1 + Seq(random.below(Int(state.head)))
        let high = min(state.head, low + Seq(random.below(8)))
        switch random.below(6) {
        case 0: return (.message(message(low)), low...low)
        case 1:
            let seq = next + Seq(random.below(3))
            return (.message(message(seq)), next...seq)
        case 2: return (.change(.message(message(low, "edited", rev: state.rev + 1))), low...low)
        case 3: return (.change(.removed(low...high, rev: state.rev + 1)), low...high)
        case 4:
            let floor = state.firstSeq + Seq(random.below(4))
            let head = log(next, firstSeq: floor, rev: state.rev)
            return (.head(head), min(state.firstSeq, next)...next)
        default:
            let page = page(
                low...high, messages(low...low), deletedRanges: [high...high],
                of: log(state.head, firstSeq: state.firstSeq, rev: state.rev))
            return (.page(page), low...high)
        }
    }
}
