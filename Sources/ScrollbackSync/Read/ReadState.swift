package import ScrollbackModel

/// How far the user has read in one conversation, and what is left.
///
/// The server counts; between two of its answers the device counts on, by running numbers. What was marked read here
/// and not confirmed yet is never undone by an older answer.
package struct ReadState: Hashable, Sendable {
    package internal(set) var epoch: Epoch
    package internal(set) var readSeq: Seq
    package internal(set) var unread: Int64
    package internal(set) var mentions: Int64
    package internal(set) var isMarkedUnread: Bool
    package internal(set) var computedAt: Stamp
    /// Up to here the server counted; what is above, up to `computedAt`, was counted on here by running numbers.
    package internal(set) var exactThrough: Seq
    /// Marked read here; to be sent until an answer says at least as much.
    package internal(set) var pendingReadSeq: Seq?
    /// The running number at `pendingReadSeq`, where it is known.
    package internal(set) var pendingN: Int64?

    /// What the counts were computed at.
    package struct Stamp: Hashable, Sendable {
        package var seq: Seq
        /// The running number at `seq`.
        package var n: Int64
        package var rev: Int64
        /// The user's own change counter.
        package var userRev: Int64

        package init(seq: Seq, n: Int64, rev: Int64, userRev: Int64) {
            self.seq = seq
            self.n = n
            self.rev = rev
            self.userRev = userRev
        }
    }

    /// As the server counted it, and what was marked read here since.
    package init(
        _ summary: ReadSummary, exactThrough: Seq? = nil, pendingReadSeq: Seq? = nil, pendingN: Int64? = nil
    ) {
        epoch = summary.epoch
        readSeq = max(summary.readSeq, pendingReadSeq ?? 0)
        unread = summary.unread
        mentions = summary.mentions
        isMarkedUnread = summary.isMarkedUnread
        computedAt = Stamp(of: summary)
        self.exactThrough = exactThrough ?? summary.seq
        self.pendingReadSeq = pendingReadSeq
        self.pendingN = pendingN
    }
}

extension ReadState.Stamp {
    init(of summary: ReadSummary) {
        self.init(seq: summary.seq, n: summary.n, rev: summary.rev, userRev: summary.userRev)
    }
}

extension ReadSummary {
    /// What a conversation's head says of reading.
    package init(_ head: ConversationHead) {
        self.init(
            epoch: head.state.epoch, readSeq: head.readSeq, unread: head.unread, mentions: head.mentions,
            isMarkedUnread: head.isMarkedUnread, seq: head.state.head, n: head.state.n, rev: head.state.rev,
            userRev: head.userRev)
    }
}
