package import ScrollbackModel

/// The client's local copy of one conversation's log: stored messages and known gaps.
///
/// Rows, gaps and deleted ranges are disjoint and together exactly `firstSeq...head`; ``violations(rows:)`` checks it.
/// All updates of a log are applied here: heads, messages, changes, pages and answers to `sync`. The result is a
/// ``LogEdit``, which the store applies in the transaction that saves this state.
///
/// A store need not load all gaps and deleted ranges. It needs those above ``replayed``, and those that overlap or
/// touch the sequence numbers of the event. An event that raises the floor affects all numbers up to the new floor. A
/// new epoch, a new view or a refetch requires all of them.
package struct LogState: Hashable, Sendable {
    package var epoch: Epoch
    package var view: Int64
    /// The lowest sequence number that may still have a message; `head + 1` if none has.
    package var firstSeq: Seq
    /// The newest known sequence number.
    package var head: Seq
    /// The counted index at `head`.
    package var countedIndex: Int64
    /// The revision up to which all changes were applied.
    package var rev: Int64
    /// The newest known revision; it is above `rev` if changes are missing.
    package var latestRev: Int64
    /// The sequence number up to which missed messages were replayed; `sync` is outstanding for the rest up to `head`.
    ///
    /// Gaps below are filled when a user scrolls to them.
    package var replayed: Seq
    /// The position from which changes have been followed.
    package var baseline: Baseline
    /// The ranges that exist and were not loaded.
    package var gaps: SeqRangeSet
    /// The sequence numbers that this reader can never see.
    package var deletedRanges: SeqRangeSet

    /// Describes the rows that may have missed changes.
    ///
    /// Changes up to `rev` were never applied to sequence numbers up to `seq`. A row that fills a gap there must have
    /// been read at `rev` or later. Otherwise a delayed answer would undo those changes.
    package struct Baseline: Hashable, Sendable {
        package var seq: Seq
        package var rev: Int64

        package init(seq: Seq, rev: Int64) {
            self.seq = seq
            self.rev = rev
        }
    }

    /// Creates a state from stored values.
    package init(
        epoch: Epoch, view: Int64, firstSeq: Seq, head: Seq, countedIndex: Int64, rev: Int64, latestRev: Int64,
        replayed: Seq,
        baseline: Baseline, gaps: SeqRangeSet, deletedRanges: SeqRangeSet
    ) {
        self.epoch = epoch
        self.view = view
        self.firstSeq = firstSeq
        self.head = head
        self.countedIndex = countedIndex
        self.rev = rev
        self.latestRev = latestRev
        self.replayed = replayed
        self.baseline = baseline
        self.gaps = gaps
        self.deletedRanges = deletedRanges
    }

    /// Creates a state from a head; everything visible is one gap.
    package init(adopting head: LogHead) {
        self.init(
            epoch: head.epoch, view: head.view, firstSeq: head.firstSeq, head: head.head,
            countedIndex: head.countedIndex, rev: head.rev,
            latestRev: head.rev, replayed: head.firstSeq - 1, baseline: Baseline(seq: head.head, rev: head.rev),
            gaps: SeqRangeSet(), deletedRanges: SeqRangeSet())
        if let range { gaps.insert(range) }
    }
}

extension LogState {
    /// The range of sequence numbers that may have messages.
    package var range: SeqRange? { firstSeq <= head ? firstSeq...head : nil }

    /// Whether this reader can never see the message at a sequence number: it was deleted, hidden or has expired.
    package func isDeleted(_ seq: Seq) -> Bool { seq < firstSeq || deletedRanges.contains(seq) }

    /// Whether messages or changes are missing that only `sync` delivers.
    package var isBehind: Bool { replayed < head || rev < latestRev }

    /// Returns the position for a `sync` request.
    package func position(in conversation: ConversationID) -> LogPosition {
        LogPosition(conversation: conversation, epoch: epoch, view: view, seq: replayed, rev: rev)
    }
}
