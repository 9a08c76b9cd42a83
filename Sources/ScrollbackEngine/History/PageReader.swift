import ScrollbackModel

/// Reads pages of one log for one reader, from one snapshot.
///
/// Pages are read by sequence number, without offsets or counts, so a page's cost depends only on its size.
struct PageReader {
    let access: Access
    let store: any StoreReader
    let reader: UserID
    let sort: Sort
    let filter: MessageFilter

    /// What one position that a filter examines costs of ``ResponseBudget/scan``.
    private var scanCost: Int64 {
        filter.isSelective ? 1 : ResponseBudget.maximumScan / ResponseBudget.maximumUnindexedScan
    }

    private var row: ConversationRow { access.conversation }
    private var state: LogHead { access.state }

    /// A range of the log that was read, and the messages in it.
    private struct Run {
        /// Newest first.
        var rows: [MessageRow] = []
        var lower: Seq
        var upper: Seq
    }

    // MARK: Pages

    /// Returns messages below `bound`, newest first, down to `end`.
    func older(than bound: Seq, downTo end: Seq? = nil, _ budget: inout ResponseBudget) throws -> LogPage {
        let last = max(state.firstSeq, end ?? 0)
        let run = try readOlder(from: min(bound - 1, state.head), downTo: last, &budget)
        return try page(
            run, hasOlder: run.lower > last, hasNewer: end == nil && run.upper < state.head, end: end)
    }

    /// Returns messages above `bound` and below `end`, oldest first.
    func newer(than bound: Seq, before end: Seq?, _ budget: inout ResponseBudget) throws -> LogPage {
        let last = min(state.head, (end ?? .max) - 1)
        let run = try readNewer(from: max(bound + 1, state.firstSeq), to: last, &budget)
        let hasOlder = end == nil && run.lower > state.firstSeq
        return try page(run, hasOlder: hasOlder, hasNewer: run.upper < last, end: end)
    }

    /// Returns the messages on both sides of a position, and the message at the position.
    func around(_ place: Position, before: Int, after: Int, _ budget: inout ResponseBudget) throws -> LogPage {
        var place = place
        // If several messages have the same time, the first is the one at the position and the others are newer.
        place.oldestNewer = min(place.oldestNewer, place.newestOlder + 2)
        if budget.isOutOfBytes { return try page(empty(above: place.newestOlder), hasOlder: true, hasNewer: true) }
        var exact: [MessageRow] = []
        if let seq = place.exact, access.visible.contains(seq) {
            exact = try budget.part(budget, messages: 1) { try messages(seq...seq, newestFirst: true, &$0) }
        }
        let half = budget.half
        let below = try budget.part(half, messages: before) {
            try readOlder(from: min(place.newestOlder, state.head), downTo: state.firstSeq, &$0)
        }
        let above = try budget.part(half, messages: after) {
            try readNewer(from: max(place.oldestNewer, state.firstSeq), to: state.head, &$0)
        }
        var run = Run(lower: below.lower, upper: above.upper)
        run.rows = above.rows + exact + below.rows
        return try page(run, hasOlder: run.lower > state.firstSeq, hasNewer: run.upper < state.head)
    }

    // MARK: Runs

    private func readOlder(from top: Seq, downTo bottom: Seq, _ budget: inout ResponseBudget) throws -> Run {
        let limit = scanLimit(budget)
        var left = limit
        guard !budget.isFull, left > 0, top >= bottom else { return empty(above: max(top, bottom - 1)) }
        defer { takeScan(limit - left, &budget) }
        var run = Run(lower: bottom, upper: top)
        for range in access.visible.clipped(to: bottom...top).ranges.reversed() {
            // Gaps are not examined, so they cost nothing.
            let part = max(range.lowerBound, range.upperBound - min(left, range.upperBound) + 1)...range.upperBound
            try append(part, newestFirst: true, to: &run.rows, &budget)
            let last = run.rows.last?.seq
            if budget.isFull {
                let reached = last.flatMap { part.contains($0) ? $0 : nil } ?? part.lowerBound
                left -= part.upperBound - reached + 1
                guard let last else { return empty(above: top) }
                run.lower = last
                return run
            }
            left -= Int64(part.count)
            if left == 0 {
                run.lower = part.lowerBound
                return run
            }
        }
        return run
    }

    private func readNewer(from bottom: Seq, to last: Seq, _ budget: inout ResponseBudget) throws -> Run {
        let limit = scanLimit(budget)
        var left = limit
        guard !budget.isFull, left > 0, bottom <= last else { return empty(above: min(bottom - 1, state.head)) }
        defer { takeScan(limit - left, &budget) }
        var run = Run(lower: bottom, upper: last)
        var rows: [MessageRow] = []
        for range in access.visible.clipped(to: bottom...last).ranges {
            let part = range.lowerBound...min(range.upperBound, range.lowerBound + min(left, last) - 1)
            try append(part, newestFirst: false, to: &rows, &budget)
            let last = rows.last?.seq
            if budget.isFull {
                let reached = last.flatMap { part.contains($0) ? $0 : nil } ?? part.upperBound
                left -= reached - part.lowerBound + 1
                guard let last else { return empty(above: bottom - 1) }
                run.upper = last
                break
            }
            left -= Int64(part.count)
            if left == 0 {
                run.upper = part.upperBound
                break
            }
        }
        run.rows = rows.reversed()
        return run
    }

    /// Returns the number of positions that the filter may examine.
    private func scanLimit(_ budget: ResponseBudget) -> Int64 { filter == .all ? .max : budget.scan / scanCost }

    private func takeScan(_ positions: Int64, _ budget: inout ResponseBudget) {
        if filter != .all { budget.takeScan(positions * scanCost) }
    }

    /// Appends the messages of a range to others, and copies them only if they are not the first.
    private func append(
        _ range: SeqRange, newestFirst: Bool, to rows: inout [MessageRow], _ budget: inout ResponseBudget
    ) throws {
        let found = try messages(range, newestFirst: newestFirst, &budget)
        if rows.isEmpty { rows = found } else { rows += found }
    }

    private func messages(_ range: SeqRange, newestFirst: Bool, _ budget: inout ResponseBudget) throws -> [MessageRow] {
        try store.messages(
            in: row.number, range, newestFirst: newestFirst, budget: &budget, filter: filter, reader: reader)
    }

    private func empty(above seq: Seq) -> Run { Run(lower: seq + 1, upper: seq) }

    private func page(_ run: Run, hasOlder: Bool, hasNewer: Bool, end: Seq? = nil) throws -> LogPage {
        var rows = sort == .newestFirst ? run.rows : run.rows.reversed()
        if access.end != nil {
            rows = try rows.compactMap { row in
                let shown = try access.shown(row, in: store)
                // Otherwise the filter would reveal the parts that a later edit added.
                return filter.selectsEditedParts && shown.isDeleted && !row.isDeleted ? nil : shown
            }
        }
        let coverage = Coverage(
            lower: run.lower, upper: run.upper,
            deletedRanges: run.lower <= run.upper ? access.invisibleRanges(in: run.lower...run.upper) : SeqRangeSet())
        let id = row.id.relative(to: reader)
        return LogPage(
            messages: rows.map { $0.message(in: id, epoch: state.epoch) }, coverage: coverage,
            isFiltered: filter != .all,
            older: hasOlder ? cursor(.older, run.lower, end) : nil,
            newer: hasNewer ? cursor(.newer, run.upper, end) : nil, state: state)
    }

    private func cursor(_ direction: PageCursor.Direction, _ seq: Seq, _ end: Seq?) -> HistoryCursor {
        PageCursor(direction: direction, seq: seq, end: end, epoch: state.epoch, sort: sort, filter: filter).text
    }

    // MARK: Positions

    /// A position in the log: the sequence numbers before and after it, and possibly a message between them.
    struct Position {
        var newestOlder: Seq
        var oldestNewer: Seq
        var exact: Seq? { oldestNewer - newestOlder == 2 ? newestOlder + 1 : nil }

        static func at(_ seq: Seq) -> Position { Position(newestOlder: seq - 1, oldestNewer: seq + 1) }
        static func between(_ seq: Seq) -> Position { Position(newestOlder: seq, oldestNewer: seq + 1) }
    }

    func position(_ point: HistoryPoint, _ parameter: String) throws -> Position {
        switch point {
        case .latest: return .between(state.head)
        case .earliest: return .between(state.firstSeq - 1)
        case .seq(let seq):
            guard seq >= 1 else { throw ChatError.invalidParameter(parameter, "must be seq:1 or above") }
            // All positions above the head are equivalent, and the largest sequence number has no successor.
            return .at(min(seq, state.head + 1))
        case .id(let id):
            guard let found = try store.message(id, in: row.number), access.visible.contains(found.seq) else {
                throw ChatError(
                    .unknownMessage, "Message \(id) does not exist, or you may not see it.", parameter: parameter)
            }
            return .at(found.seq)
        case .timetoken(let time): return try position(from: time, through: time)
        case .date(let date):
            let times = Timetoken.millisecond(of: date)
            return try position(from: times.lowerBound, through: times.upperBound)
        case .firstUnread: return try firstUnread()
        }
    }

    private func position(from first: Timetoken, through last: Timetoken) throws -> Position {
        let newestOlder = try store.lastPosition(in: row, before: first)
        let newestWithin = try store.lastPosition(in: row, atOrBefore: last)
        guard newestWithin > newestOlder else { return .between(newestOlder) }
        // Positions of removed messages may be below the first message with this time.
        let first = try store.messages(
            in: row.number, newestOlder + 1...newestWithin, newestFirst: false, limit: 1, filter: .all, reader: reader
        ).first
        return Position(newestOlder: (first?.seq ?? newestWithin) - 1, oldestNewer: newestWithin + 1)
    }

    /// Returns the position of the first unread message that counts, or the end of the log if there is none.
    private func firstUnread() throws -> Position {
        guard let numbers = access.unreadBase.countedIndexes(through: state.countedIndex),
            let countedIndex = try store.firstCounted(by: reader, in: row.number, numbers: numbers)
        else { return .between(state.head) }
        // The counted index belongs to the first existing message with this index or a higher one.
        let below = try store.lastPosition(in: row) { $0.countedIndex < countedIndex }
        let first = try access.visible.first(atOrAbove: below + 1).flatMap { range in
            try store.messages(
                in: row.number, range.lowerBound...state.head, newestFirst: false, limit: 1, filter: .all,
                reader: reader
            ).first
        }
        return first.map { .at($0.seq) } ?? .between(state.head)
    }
}
