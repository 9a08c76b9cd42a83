/// What a page of a log says about the places it looked at.
package struct Coverage: Hashable, Sendable {
    /// Lowest and highest place looked at; `upper == lower - 1` when there was none.
    package var lower: Seq
    package var upper: Seq
    /// Places among them that this reader will never see.
    package var voids: SeqRangeSet

    package init(lower: Seq, upper: Seq, voids: SeqRangeSet = .init()) {
        self.lower = lower
        self.upper = upper
        self.voids = voids
    }

    package static func nothing(above seq: Seq) -> Coverage { Coverage(lower: seq + 1, upper: seq) }

    package var range: SeqRange? { lower <= upper ? lower...upper : nil }
}

/// The state of a log as one reader may see it.
package struct LogHead: Hashable, Sendable {
    package var epoch: Epoch
    /// Changes when what the reader may see of the past changes.
    package var view: Int64
    /// The newest place the reader may see, 0 for none.
    package var head: Seq
    /// The oldest place that may still hold something; `head + 1` when nothing does.
    package var firstSeq: Seq
    /// The running number at `head`.
    package var n: Int64
    /// The newest change.
    package var rev: Int64

    package init(epoch: Epoch, view: Int64, head: Seq, firstSeq: Seq, n: Int64, rev: Int64) {
        self.epoch = epoch
        self.view = view
        self.head = head
        self.firstSeq = firstSeq
        self.n = n
        self.rev = rev
    }
}

/// A page as the server gives it.
package struct LogPage: Hashable, Sendable {
    package var messages: [Message]
    package var coverage: Coverage
    /// Whether a filter left messages out: then the coverage was scanned and says nothing about gaps.
    package var isFiltered: Bool
    package var older: HistoryCursor?
    package var newer: HistoryCursor?
    package var state: LogHead
    /// The messages' actions one by one, where they were asked for: the first ``mostActions`` of each.
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

    /// The most actions of one message that come with it; a list of its actions has them all.
    package static let mostActions = 100
}
