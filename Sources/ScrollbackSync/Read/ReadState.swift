package import ScrollbackModel

/// What the server counted for one member, and of what.
package struct ReadSummary: Hashable, Sendable {
    package var readSeq: Seq
    package var unread: Int64
    package var mentions: Int64
    package var stamp: Stamp

    /// What a count was computed at.
    package struct Stamp: Hashable, Sendable {
        package var seq: Seq
        /// The running number at `seq`.
        package var n: Int64
        package var rev: Int64
        /// The member's own change counter.
        package var userRev: Int64

        package init(seq: Seq, n: Int64, rev: Int64, userRev: Int64) {
            self.seq = seq
            self.n = n
            self.rev = rev
            self.userRev = userRev
        }
    }

    package init(readSeq: Seq, unread: Int64, mentions: Int64, stamp: Stamp) {
        self.readSeq = readSeq
        self.unread = unread
        self.mentions = mentions
        self.stamp = stamp
    }

    package init(_ head: ConversationHead) {
        self.init(
            readSeq: head.readSeq, unread: head.unread, mentions: head.mentions,
            stamp: Stamp(seq: head.state.head, n: head.state.n, rev: head.state.rev, userRev: head.userRev))
    }
}

/// How far the user has read in one conversation, and what is left.
///
/// The server counts; between two of its answers the device counts on, by running numbers. What was marked read here and
/// not confirmed yet is never undone by an older answer.
package struct ReadState: Hashable, Sendable {
    package internal(set) var readSeq: Seq
    package internal(set) var unread: Int64
    package internal(set) var mentions: Int64
    package internal(set) var computedAt: ReadSummary.Stamp
    /// Marked read here; to be sent until an answer says at least as much.
    package internal(set) var pendingReadSeq: Seq?
    /// The running number at `pendingReadSeq`, where it is known.
    package internal(set) var pendingN: Int64?

    package init(_ summary: ReadSummary, pendingReadSeq: Seq? = nil, pendingN: Int64? = nil) {
        readSeq = max(summary.readSeq, pendingReadSeq ?? 0)
        unread = summary.unread
        mentions = summary.mentions
        computedAt = summary.stamp
        self.pendingReadSeq = pendingReadSeq
        self.pendingN = pendingN
    }
}
