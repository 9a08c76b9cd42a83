import ScrollbackModel
import ScrollbackSync

/// The view of one reader on a log.
extension ModelLog {
    /// The newest sequence number that a reader may see, which does not rise after the reader leaves.
    func head(for user: UserID) -> Seq {
        guard let span = spans[user]?.last else { return 0 }
        return span.left ?? last
    }

    func firstSeq(for user: UserID) -> Seq {
        let joined = visibility == .everything ? 1 : spans[user]?.first?.joined ?? 1
        return min(max(floor, joined), head(for: user) + 1)
    }

    func state(for user: UserID) -> LogHead {
        let head = head(for: user)
        let countedIndex = head > 0 ? rows[Int(head) - 1].countedIndex : 0
        return LogHead(
            epoch: epoch, view: view, head: head, firstSeq: firstSeq(for: user), countedIndex: countedIndex, rev: rev)
    }

    func canSee(_ user: UserID, _ seq: Seq) -> Bool {
        guard seq >= firstSeq(for: user), seq <= head(for: user), !removed.contains(seq) else { return false }
        if visibility == .everything { return true }
        return spans[user]?.contains { seq >= $0.joined && seq <= $0.left ?? last } ?? false
    }

    func visibleRows(for user: UserID) -> [Message] { rows.filter { canSee(user, $0.seq) } }

    func change(_ rev: Int64, for user: UserID) -> LogChange {
        switch changes[Int(rev) - 1] {
        case .message(let seq) where canSee(user, seq): .message(rows[Int(seq) - 1])
        case .message: .invisible(rev: rev)
        case .removed(let range): .removed(range, rev: rev)
        }
    }

    /// Reads a page of at most `limit` rows. The server inspects at most `budget` sequence numbers.
    func page(
        _ direction: GapRequest.Direction, of anchor: Seq, limit: Int, from sender: UserID? = nil,
        budget: Int = .max, reader: UserID
    ) -> LogPage {
        let state = state(for: reader)
        var messages: [Message] = []
        var deletedRanges = SeqRangeSet()
        let step: Seq = direction == .older ? -1 : 1
        let start = direction == .older ? min(anchor - 1, state.head) : max(anchor + 1, state.firstSeq)
        var seq = start
        var scanned = 0
        while seq >= state.firstSeq, seq <= state.head, messages.count < limit, scanned < budget {
            if !canSee(reader, seq) {
                deletedRanges.insert(seq...seq)
            } else if sender == nil || rows[Int(seq) - 1].sender == sender {
                messages.append(rows[Int(seq) - 1])
            }
            scanned += 1
            seq += step
        }
        let end = seq - step
        let coverage =
            scanned == 0
            ? Coverage.empty(above: anchor)
            : Coverage(lower: min(start, end), upper: max(start, end), deletedRanges: deletedRanges)
        return LogPage(
            messages: messages, coverage: coverage, isFiltered: sender != nil, older: nil, newer: nil, state: state)
    }

    /// Answers a sync request, with limits that are small enough to be reached often.
    func sync(_ asked: LogPosition, reader: UserID) -> LogSync {
        let state = state(for: reader)
        let missed = asked.epoch == epoch ? asked.seq : 0
        let places = max(0, Int(state.head - missed))
        let newest = page(.older, of: state.head + 1, limit: 6, budget: places, reader: reader)
        if asked.epoch != epoch || asked.rev < discardedThrough {
            return LogSync(
                page: newest, changes: [], changedThrough: rev, mustRefetch: asked.epoch == epoch)
        }
        let through = min(rev, asked.rev + 4)
        let changes = asked.rev < through ? (asked.rev + 1...through).map { change($0, for: reader) } : []
        return LogSync(page: newest, changes: changes, changedThrough: through, mustRefetch: false)
    }
}
