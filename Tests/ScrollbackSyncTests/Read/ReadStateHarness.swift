import ScrollbackModel
import ScrollbackSync

/// A log with its rows and counts in memory, as the local store keeps them.
struct ReadStateHarness {
    var log: LogState
    var rows: [Seq: Message] = [:]
    var read: ReadState
    /// Whether the client receives only the user's own messages and mentions, as in an unsubscribed channel.
    var receivesOwnMessages = false

    /// Creates a log from a summary, with the given rows. All other messages are not loaded.
    init(_ summary: ReadSummary, rows held: [Message] = []) {
        log = LogState(
            adopting: LogHead(
                epoch: summary.epoch, view: 0, head: summary.seq, firstSeq: 1, countedIndex: summary.countedIndex,
                rev: summary.rev))
        read = ReadState(unknownIn: summary.epoch, countsAfter: 0, countedIndex: 0)
        read.apply(summary)
        for message in held { apply(message) }
    }

    mutating func apply(_ message: Message) { execute { $0.apply(message: message) } }

    mutating func apply(_ change: LogChange) {
        let epoch = log.epoch
        var removed: [SeqRange] = []
        if case .removed(let places, _) = change { removed = [places] }
        execute(removed: removed, rev: change.rev) { $0.apply(change: change, in: epoch) }
    }

    mutating func apply(hidden places: [SeqRange]) {
        let epoch = log.epoch
        execute(removed: places) { $0.apply(hidden: places, in: epoch) }
    }

    mutating func apply(head: LogHead) {
        let floor = log.firstSeq
        execute(removed: head.firstSeq > floor ? [floor...head.firstSeq - 1] : []) { $0.apply(head: head) }
    }

    /// Applies head events of changes in one transaction, each with whether its change may have affected the counts.
    mutating func applyChanges(_ changes: [(rev: Int64, altersCounts: Bool)]) {
        for change in changes {
            let previous = log.latestRev
            let head = LogHead(
                epoch: log.epoch, view: log.view, head: log.head, firstSeq: log.firstSeq,
                countedIndex: log.countedIndex, rev: change.rev)
            _ = log.apply(head: head)
            if !change.altersCounts { read.advanceRevision(to: change.rev, after: previous) }
        }
        updateCounts()
    }

    /// Applies the answer to a `sync` request that the client sent at its current position.
    mutating func apply(_ sync: LogSync) {
        let asked = log.position(in: swift)
        execute { $0.apply(sync: sync, asked: asked) }
    }

    mutating func apply(_ page: LogPage) { execute { $0.apply(page: page) } }

    mutating func apply(_ summary: ReadSummary) {
        read.apply(summary)
        updateCounts()
    }

    mutating func markRead(upTo seq: Seq) {
        read.markRead(upTo: seq, countedIndex: rows[seq]?.countedIndex ?? (seq == log.head ? log.countedIndex : nil))
        updateCounts()
    }

    private mutating func execute(
        removed: [SeqRange] = [], rev: Int64? = nil, _ body: (inout LogState) -> LogEdit
    ) {
        let gaps = log.gaps
        let edit = body(&log)
        for row in edit.upserts where row.rev > 0 && LogEdit.replaces(row, rows[row.seq]) {
            let hasOwnAbove = rows.values.contains { $0.sender == me && $0.seq > row.seq }
            let hasGapAbove = log.gaps.ranges.contains { $0.upperBound > row.seq }
            read.changed(row, replacing: rows[row.seq], reader: me, mayHaveSentLater: hasOwnAbove || hasGapAbove)
        }
        for places in removed { read.erased(places, rev: rev) }
        for row in edit.upserts where gaps.contains(row.seq) { read.gapFilled(row, reader: me) }
        edit.apply(to: &rows)
        updateCounts()
    }

    private mutating func updateCounts() {
        let (log, rows) = (log, rows)
        read.updateCounts(log, receivesOwnMessages: receivesOwnMessages) { places in
            var counted = ReadState.RangeCounts(isComplete: !log.gaps.intersects(places))
            for row in rows.values where places.contains(row.seq) {
                if row.sender == me {
                    counted.own += row.countsUnread ? 1 : 0
                } else {
                    counted.unread += row.countsUnread ? 1 : 0
                    counted.mentions += row.attributes.mentions?.includes(me) == true ? 1 : 0
                }
            }
            return counted
        }
    }
}
