package import ScrollbackModel

/// What a device knows of one conversation's log.
///
/// Rows, gaps and voids are disjoint and together exactly `firstSeq...head`; ``violations(rows:)`` proves it.
/// Everything that reaches a device about a log (a head, a message, a change, a page, an answer to `sync`) is applied
/// here and comes back as a ``LogEdit``, which the store carries out in the transaction that saves this state.
///
/// A store may load less than all gaps and voids: those that overlap or touch the places an event speaks of (a floor
/// that moves up speaks of all it passes), and all above ``replayed``. Only a new epoch, a new view and a refetch need
/// every one.
package struct LogState: Hashable, Sendable {
    package var epoch: Epoch
    package var view: Int64
    /// The oldest place that may still hold something; `head + 1` when nothing does.
    package var firstSeq: Seq
    /// The newest place known to exist.
    package var head: Seq
    /// The running number at `head`.
    package var n: Int64
    /// Every change up to this one was applied.
    package var rev: Int64
    /// The newest change known to exist; above `rev` while some are missing.
    package var latestRev: Int64
    /// What was missed is replayed up to here; above it, up to `head`, `sync` has yet to answer.
    ///
    /// Gaps below are left to whoever scrolls to them.
    package var replayed: Seq
    /// From where on changes were followed.
    package var baseline: Baseline
    /// Places that exist and were not read.
    package var gaps: SeqRangeSet
    /// Places that this reader will never see.
    package var voids: SeqRangeSet

    /// Changes up to `rev` were never applied to places up to `seq`: what fills a gap there must have been read at
    /// `rev` or later, else an answer that was long on its way would bring back what those changes took away.
    package struct Baseline: Hashable, Sendable {
        package var seq: Seq
        package var rev: Int64

        package init(seq: Seq, rev: Int64) {
            self.seq = seq
            self.rev = rev
        }
    }

    /// A log as a store kept it.
    package init(
        epoch: Epoch, view: Int64, firstSeq: Seq, head: Seq, n: Int64, rev: Int64, latestRev: Int64, replayed: Seq,
        baseline: Baseline, gaps: SeqRangeSet, voids: SeqRangeSet
    ) {
        self.epoch = epoch
        self.view = view
        self.firstSeq = firstSeq
        self.head = head
        self.n = n
        self.rev = rev
        self.latestRev = latestRev
        self.replayed = replayed
        self.baseline = baseline
        self.gaps = gaps
        self.voids = voids
    }

    /// A log of which nothing but the head is known: all that may be seen is one gap.
    package init(adopting head: LogHead) {
        self.init(
            epoch: head.epoch, view: head.view, firstSeq: head.firstSeq, head: head.head, n: head.n, rev: head.rev,
            latestRev: head.rev, replayed: head.firstSeq - 1, baseline: Baseline(seq: head.head, rev: head.rev),
            gaps: SeqRangeSet(), voids: SeqRangeSet())
        if let range { gaps.insert(range) }
    }
}

extension LogState {
    /// All places that may hold something.
    package var range: SeqRange? { firstSeq <= head ? firstSeq...head : nil }

    /// Whether messages or changes were missed that only `sync` brings.
    package var isBehind: Bool { replayed < head || rev < latestRev }

    /// What `sync` asks from.
    package func position(in conversation: ConversationID) -> LogPosition {
        LogPosition(conversation: conversation, epoch: epoch, view: view, seq: replayed, rev: rev)
    }
}
