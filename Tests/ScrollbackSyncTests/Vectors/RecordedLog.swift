import ScrollbackModel
import ScrollbackSync

/// A copy of a log that records its calls.
struct RecordedLog {
    private var copy: LogCopy
    var history: VectorHistory?

    init(adopting head: LogHead, seed: UInt64? = nil) {
        copy = LogCopy(adopting: head)
        history = seed.map { VectorHistory("logState", seed: $0, start: ["head": head.vector]) }
    }

    var state: LogState { copy.state }
    var rows: [Seq: Message] { copy.rows }
    var violations: [String] { copy.violations }

    mutating func apply(_ event: (inout RecordedLog) -> LogEdit) -> LogEdit { event(&self) }

    mutating func apply(head: LogHead) -> LogEdit {
        apply("applyHead", ["head": head.vector]) { $0.apply(head: head) }
    }

    mutating func apply(message: Message, readAt rev: Int64 = 0) -> LogEdit {
        apply("applyMessage", ["message": message.vector, "rev": rev.vector]) {
            $0.apply(message: message, readAt: rev)
        }
    }

    mutating func apply(_ event: LiveEvent) -> LogEdit {
        apply("applyEvent", ["event": event.vector]) { $0.apply(event) }
    }

    mutating func apply(page: LogPage) -> LogEdit {
        apply("applyPage", ["page": page.vector]) { $0.apply(page: page) }
    }

    mutating func apply(sync: LogSync, asked: LogPosition) -> LogEdit {
        apply("applySync", ["sync": sync.vector, "asked": asked.vector]) { $0.apply(sync: sync, asked: asked) }
    }

    mutating func forget(through seq: Seq) -> LogEdit {
        apply("forget", ["seq": seq.vector]) { $0.forget(through: seq) }
    }

    private mutating func apply(
        _ call: String, _ arguments: @autoclosure () -> VectorValue, _ event: (inout LogState) -> LogEdit
    ) -> LogEdit {
        let edit = copy.apply(event)
        let (state, rows) = (copy.state, copy.rows)
        history?.record(call, arguments(), returned: edit.vector, state: state.vector(rows: rows))
        return edit
    }
}

extension RecordedLog {
    /// Records random calls, also with heads, pages and answers that the scenarios rarely have.
    static func randomHistory(seed: UInt64) -> VectorHistory? {
        var arguments = LogArguments(seed: seed)
        var log = RecordedLog(adopting: arguments.head(in: nil), seed: seed)
        for _ in 0..<30 {
            let state = log.state
            let head = arguments.head(in: state)
            switch arguments.random.below(20) {
            case 0..<3: _ = log.apply(head: head)
            case 3..<6: _ = log.apply(message: arguments.row(in: state), readAt: arguments.random.seq(4))
            case 6..<8: _ = log.apply(.message(arguments.row(in: state)))
            case 8..<11: _ = log.apply(.changed(swift, head.epoch, arguments.change(in: state)))
            case 11..<13: _ = log.apply(.hidden(swift, head.epoch, [arguments.random.range(16)]))
            case 13..<16: _ = log.apply(page: arguments.answer(in: state, head))
            case 16..<19:
                var asked = state.position(in: swift)
                if arguments.random.chance(20) { asked.rev = arguments.random.seq(5) }
                _ = log.apply(sync: arguments.sync(in: state, head), asked: asked)
            default: _ = log.forget(through: arguments.random.seq(16))
            }
        }
        return log.history
    }
}

/// Random arguments of the calls of a log.
private struct LogArguments {
    var random: VectorRandom

    init(seed: UInt64) {
        random = VectorRandom(seed: seed)
    }

    /// A head that is mostly of the same log and view as the state.
    mutating func head(in state: LogState?) -> LogHead {
        let head = random.seq(16)
        let epoch = state?.epoch ?? Epoch(rawValue: 7)
        return LogHead(
            epoch: random.chance(95) ? epoch : Epoch(rawValue: 7 + UInt64(random.below(2))),
            view: random.chance(85) ? state?.view ?? 1 : random.seq(3), head: head,
            firstSeq: 1 + min(head, random.chance(80) ? 0 : random.seq(10)), countedIndex: min(head, random.seq(16)),
            rev: random.chance(70) ? state?.latestRev ?? 0 : random.seq(8))
    }

    mutating func row(in state: LogState) -> Message {
        message(
            1 + random.seq(16), rev: random.chance(60) ? 0 : random.seq(8),
            epoch: random.chance(95) ? state.epoch.rawValue : 9)
    }

    mutating func change(in state: LogState) -> LogChange {
        let rev = random.chance(60) ? state.rev + 1 : 1 + random.seq(8)
        switch random.below(3) {
        case 0:
            var row = row(in: state)
            row.rev = rev
            return .message(row)
        case 1: return .removed(random.range(16), rev: rev)
        default: return .invisible(rev: rev)
        }
    }

    mutating func answer(in state: LogState, _ head: LogHead) -> LogPage {
        let range = random.range(14)
        let covered = random.chance(90) ? range : nil
        let rows = (covered ?? range).filter { _ in random.chance(70) }.map { seq in
            var row = row(in: state)
            (row.seq, row.rev) = (seq, min(row.rev, head.rev))
            return row
        }
        var answer = page(
            covered, rows, deletedRanges: random.chance(30) ? [random.range(14)] : [], of: head)
        answer.isFiltered = random.chance(20)
        return answer
    }

    mutating func sync(in state: LogState, _ head: LogHead) -> LogSync {
        let changes = (0..<random.below(4)).map { _ in change(in: state) }.filter { $0.rev <= head.rev }
        return LogSync(
            page: answer(in: state, head), changes: changes, changedThrough: min(head.rev, random.seq(8)),
            mustRefetch: random.chance(15))
    }
}

extension LogEdit: VectorEncodable {
    /// The edit, with the sequence number and revision of each row.
    var vector: VectorValue {
        var reason: String?
        if case .stale(let stale) = outcome { reason = stale.rawValue }
        return [
            "upserts": .list(upserts.map { [$0.seq.vector, $0.rev.vector] }), "erased": erased.vector,
            "erasesEverything": erasesEverything.vector, "needsSync": needsSync.vector, "staleReason": reason.vector,
        ]
    }
}

extension LogState: VectorEncodable {
    var vector: VectorValue { .object(members) }

    private var members: [(String, VectorValue)] {
        [
            ("epoch", epoch.vector), ("view", view.vector), ("firstSeq", firstSeq.vector), ("head", head.vector),
            ("countedIndex", countedIndex.vector), ("rev", rev.vector), ("latestRev", latestRev.vector),
            ("replayed", replayed.vector), ("baseline", ["seq": baseline.seq.vector, "rev": baseline.rev.vector]),
            ("gaps", gaps.vector), ("deletedRanges", deletedRanges.vector),
        ]
    }

    /// The state, some of its queries, and the sequence number and revision of each row.
    fileprivate func vector(rows: [Seq: Message]) -> VectorValue {
        .object(
            members + [
                ("isBehind", isBehind.vector),
                ("gapToFill", gapToFill(nearest: (firstSeq + head) / 2, limit: 4).vector),
                ("lowerEnd", lowerEnd(of: Int(head % 4), through: head - 1).vector),
                ("upperEnd", upperEnd(of: Int(head % 4), from: firstSeq + 1).vector),
                ("rows", .list(rows.values.sorted { $0.seq < $1.seq }.map { [$0.seq.vector, $0.rev.vector] })),
            ])
    }
}

extension GapRequest: VectorEncodable {
    var vector: VectorValue {
        [
            "gap": gap.vector, "anchor": anchor.vector, "direction": direction == .older ? "older" : "newer",
            "limit": limit.vector,
        ]
    }
}

extension LiveEvent: VectorEncodable {
    var vector: VectorValue {
        switch self {
        case .message(let message): ["type": "message", "message": message.vector]
        case .changed(let conversation, let epoch, let change):
            [
                "type": "changed", "conversation": conversation.vector, "epoch": epoch.vector,
                "change": change.vector,
            ]
        case .head(let conversation, let head, _, _):
            ["type": "head", "conversation": conversation.vector, "head": head.vector]
        case .hidden(let conversation, let epoch, let ranges):
            [
                "type": "hidden", "conversation": conversation.vector, "epoch": epoch.vector,
                "ranges": ranges.vector,
            ]
        }
    }
}
