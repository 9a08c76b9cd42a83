package import ScrollbackModel

extension ReadState {
    /// Takes what the server counted, unless it was counted before something this device knows of.
    ///
    /// - Returns: whether its counts were taken. How far was read is merged by the higher one in any case.
    @discardableResult
    package mutating func apply(_ summary: ReadSummary) -> Bool {
        readSeq = max(readSeq, summary.readSeq)
        if let pending = pendingReadSeq, summary.readSeq >= pending { confirm() }
        var stamp = summary.stamp
        guard stamp.rev >= computedAt.rev, stamp.userRev >= computedAt.userRev else { return false }
        let missed = max(0, computedAt.n - stamp.n)
        let isOlder = stamp.seq < computedAt.seq
        if isOlder {
            stamp.seq = computedAt.seq
            stamp.n = computedAt.n
        }
        let counted = (unread: summary.unread + (isOlder ? missed : 0), mentions: summary.mentions)
        let before = (unread: unread + max(0, stamp.n - lowestUnreadN), mentions: mentions, seq: computedAt.seq)
        computedAt = stamp
        (unread, mentions) = counted
        if let pending = pendingReadSeq {
            // The answer counts what was read here meanwhile. These bounds do not.
            unread = min(unread, before.unread, pendingN.map { max(0, stamp.n - $0) } ?? .max)
            mentions = min(mentions, max(0, stamp.seq - pending))
            if stamp.seq == before.seq { mentions = min(mentions, before.mentions) }
        }
        return true
    }

    /// Counts a message on, the user's own apart.
    package mutating func apply(_ message: Message, reader: UserID) {
        guard message.seq > computedAt.seq else { return }
        let isMine = message.sender == reader
        let own: Int64 = isMine && message.type.traits.less(message.attributes.traits).countsUnread ? 1 : 0
        if message.seq > readSeq {
            unread += max(0, message.n - lowestUnreadN - own)
            if !isMine, message.attributes.mentions?.includes(reader) == true { mentions += 1 }
        }
        computedAt.seq = message.seq
        computedAt.n = message.n
    }

    /// Marks everything up to a place as read, here and now.
    ///
    /// - Parameter n: the running number there, where the row is known.
    package mutating func markRead(upTo seq: Seq, n: Int64? = nil) {
        guard seq > readSeq else { return }
        readSeq = seq
        pendingReadSeq = seq
        pendingN = n
        if seq >= computedAt.seq {
            unread = 0
            mentions = 0
        } else if let n {
            unread = min(unread, max(0, computedAt.n - n))
            mentions = min(mentions, computedAt.seq - seq)
        }
    }

    /// The conversation has started over in another log: its old places mean nothing there, so no queued read is sent.
    package mutating func startOver(with summary: ReadSummary) {
        self = ReadState(summary)
    }

    /// The running number above which nothing is counted or read yet.
    private var lowestUnreadN: Int64 { max(computedAt.n, pendingN ?? 0) }

    private mutating func confirm() {
        pendingReadSeq = nil
        pendingN = nil
    }
}
