/// The sequence numbers that a page covers.
package struct Coverage: Hashable, Sendable {
    /// The lowest and highest covered sequence numbers; `upper == lower - 1` if it covers none.
    package var lower: Seq
    package var upper: Seq
    /// The covered sequence numbers that this reader can never see.
    package var deletedRanges: SeqRangeSet

    package init(lower: Seq, upper: Seq, deletedRanges: SeqRangeSet = .init()) {
        self.lower = lower
        self.upper = upper
        self.deletedRanges = deletedRanges
    }

    package static func empty(above seq: Seq) -> Coverage { Coverage(lower: seq + 1, upper: seq) }

    package var range: SeqRange? { lower <= upper ? lower...upper : nil }
}

/// The state of a log as one reader may see it.
package struct LogHead: Hashable, Sendable {
    package var epoch: Epoch
    /// The reader's view, a counter that increases when the visible part of the past changes.
    package var view: Int64
    /// The newest sequence number that the reader may see; 0 for none.
    package var head: Seq
    /// The lowest sequence number that may still have a message; `head + 1` if none has.
    package var firstSeq: Seq
    /// The counted index at `head`.
    package var countedIndex: Int64
    /// The newest revision.
    package var rev: Int64

    package init(epoch: Epoch, view: Int64, head: Seq, firstSeq: Seq, countedIndex: Int64, rev: Int64) {
        self.epoch = epoch
        self.view = view
        self.head = head
        self.firstSeq = firstSeq
        self.countedIndex = countedIndex
        self.rev = rev
    }
}

/// A page as the server returns it.
package struct LogPage: Hashable, Sendable {
    package var messages: [Message]
    package var coverage: Coverage
    /// Whether a filter omitted messages: the coverage was then only scanned and does not close gaps.
    package var isFiltered: Bool
    package var older: HistoryCursor?
    package var newer: HistoryCursor?
    package var state: LogHead
    /// The first ``maximumActionsPerMessage`` actions of each message, if the query requested actions.
    package var actions: [MessageAction]

    package init(
        messages: [Message], coverage: Coverage, isFiltered: Bool, older: HistoryCursor?, newer: HistoryCursor?,
        state: LogHead, actions: [MessageAction] = []
    ) {
        self.messages = messages
        self.coverage = coverage
        self.isFiltered = isFiltered
        self.older = older
        self.newer = newer
        self.state = state
        self.actions = actions
    }

    /// The maximum number of actions of one message in a page; the list of a message's actions has all of them.
    package static let maximumActionsPerMessage = 100
}
