import ScrollbackModel

/// Reads pages of one log for one reader, from one snapshot.
///
/// Never an offset, never a count: a page costs what it holds.
struct PageReader {
    let access: Access
    let store: any StoreReader
    let reader: UserID
    let sort: Sort
    let filter: MessageFilter

    /// The most places a filtered page looks at; where nothing matched by then, it is empty and says where to go on.
    static let maximumScan: Int64 = 20_000

    private var row: ConversationRow { access.conversation }
    private var state: LogHead { access.state }

    /// A run of a log that was looked at, and the messages in it.
    private struct Run {
        /// Newest first.
        var rows: [MessageRow] = []
        var lower: Seq
        var upper: Seq
    }

    // MARK: Pages

    /// Messages below `bound`, from the newest of them to older.
    func older(than bound: Seq, limit: Int) throws -> LogPage {
        let run = try readOlder(from: min(bound - 1, state.head), limit: limit)
        return page(run, hasOlder: run.lower > state.firstSeq, hasNewer: run.upper < state.head)
    }

    /// Messages above `bound` and below `end`, from the oldest of them to newer.
    func newer(than bound: Seq, before end: Seq?, limit: Int) throws -> LogPage {
        let last = min(state.head, (end ?? .max) - 1)
        let run = try readNewer(from: max(bound + 1, state.firstSeq), to: last, limit: limit)
        let hasOlder = end == nil && run.lower > state.firstSeq
        return page(run, hasOlder: hasOlder, hasNewer: run.upper < last, end: end)
    }

    /// The messages on both sides of a place, and the one there.
    func around(_ place: Place, before: Int, after: Int) throws -> LogPage {
        var place = place
        // Of several messages at one time the first is the one there, and the others are newer.
        place.oldestNewer = min(place.oldestNewer, place.newestOlder + 2)
        let below = try readOlder(from: min(place.newestOlder, state.head), limit: before)
        let above = try readNewer(from: max(place.oldestNewer, state.firstSeq), to: state.head, limit: after)
        var run = Run(lower: below.lower, upper: above.upper)
        run.rows = above.rows
        if let seq = place.itself, access.visible.contains(seq) {
            run.rows += try store.messages(
                in: row.number, seq...seq, newestFirst: true, limit: 1, filter: filter, reader: reader)
        }
        run.rows += below.rows
        return page(run, hasOlder: run.lower > state.firstSeq, hasNewer: run.upper < state.head)
    }

    // MARK: Runs

    private func readOlder(from top: Seq, limit: Int) throws -> Run {
        guard limit > 0, top >= state.firstSeq else { return nothing(above: max(top, state.firstSeq - 1)) }
        var run = Run(lower: state.firstSeq, upper: top)
        let bottom = filter == .all ? state.firstSeq : max(state.firstSeq, top - Self.maximumScan + 1)
        for range in access.visible.clipped(to: bottom...top).ranges.reversed() {
            run.rows += try store.messages(
                in: row.number, range, newestFirst: true, limit: limit - run.rows.count, filter: filter, reader: reader)
            if run.rows.count == limit {
                run.lower = run.rows[limit - 1].seq
                return run
            }
        }
        run.lower = bottom
        return run
    }

    private func readNewer(from bottom: Seq, to last: Seq, limit: Int) throws -> Run {
        guard limit > 0, bottom <= last else { return nothing(above: min(bottom - 1, state.head)) }
        var run = Run(lower: bottom, upper: last)
        let top = filter == .all ? last : min(last, bottom + Self.maximumScan - 1)
        var rows: [MessageRow] = []
        for range in access.visible.clipped(to: bottom...top).ranges {
            rows += try store.messages(
                in: row.number, range, newestFirst: false, limit: limit - rows.count, filter: filter, reader: reader)
            if rows.count == limit { break }
        }
        run.upper = rows.count == limit ? rows[limit - 1].seq : top
        run.rows = rows.reversed()
        return run
    }

    private func nothing(above seq: Seq) -> Run { Run(lower: seq + 1, upper: seq) }

    private func page(_ run: Run, hasOlder: Bool, hasNewer: Bool, end: Seq? = nil) -> LogPage {
        let rows = sort == .newestFirst ? run.rows : run.rows.reversed()
        let coverage = Coverage(
            lower: run.lower, upper: run.upper,
            voids: run.lower <= run.upper ? access.voids(in: run.lower...run.upper) : SeqRangeSet())
        return LogPage(
            messages: rows.map { $0.message(in: row.id.relative(to: reader), epoch: state.epoch) }, coverage: coverage,
            isFiltered: filter != .all,
            older: hasOlder ? cursor(.older, run.lower, nil) : nil,
            newer: hasNewer ? cursor(.newer, run.upper, end) : nil, state: state)
    }

    private func cursor(_ direction: PageCursor.Direction, _ seq: Seq, _ end: Seq?) -> HistoryCursor {
        PageCursor(direction: direction, seq: seq, end: end, epoch: state.epoch, sort: sort, filter: filter).text
    }

    // MARK: Places

    /// A point found in the log: what lies before it, what lies after it, and perhaps a message between.
    struct Place {
        var newestOlder: Seq
        var oldestNewer: Seq
        var itself: Seq? { oldestNewer - newestOlder == 2 ? newestOlder + 1 : nil }

        static func at(_ seq: Seq) -> Place { Place(newestOlder: seq - 1, oldestNewer: seq + 1) }
        static func between(_ seq: Seq) -> Place { Place(newestOlder: seq, oldestNewer: seq + 1) }
    }

    func place(_ point: HistoryPoint, _ parameter: String) throws -> Place {
        switch point {
        case .latest: return .between(state.head)
        case .earliest: return .between(state.firstSeq - 1)
        case .seq(let seq):
            guard seq >= 1 else { throw ChatError.invalidParameter(parameter, "must be seq:1 or above") }
            // Above the head there is nothing to tell one place from another, and the largest has none after it.
            return .at(min(seq, state.head + 1))
        case .id(let id):
            guard let found = try store.message(id, in: row.number), access.visible.contains(found.seq) else {
                throw ChatError(
                    .unknownMessage, "there is no message \(id) here that you may see", parameter: parameter)
            }
            return .at(found.seq)
        case .timetoken(let time): return try place(from: time, through: time)
        case .date(let date):
            let first = Timetoken(date)
            let last = Timetoken(rawValue: first.rawValue + Timetoken.ticksPerMillisecond - 1)
            return try place(from: first, through: last)
        case .firstUnread: return try firstUnread()
        }
    }

    private func place(from first: Timetoken, through last: Timetoken) throws -> Place {
        let newestOlder = try store.lastPlace(in: row) { $0.timetoken < first }
        let newestWithin = try store.lastPlace(in: row) { $0.timetoken <= last }
        return Place(newestOlder: newestOlder, oldestNewer: newestWithin + 1)
    }

    /// The first message that counts and the reader has not read; the newest end where there is none.
    private func firstUnread() throws -> Place {
        var n = access.baseN
        for run in try store.hidden(of: reader, in: row.number, aboveN: n) where run.lowerN <= n { n = run.upperN }
        guard n < state.n else { return .between(state.head) }
        let above = n
        return .at(try store.lastPlace(in: row) { $0.n <= above } + 1)
    }
}
