package import ScrollbackModel

extension ReadState {
    /// Takes what the server counted, unless it was counted before something this device knows of.
    ///
    /// - Parameter since: what this device knows to have come after the summary's place, up to its own.
    /// - Returns: whether its counts were taken. How far was read is merged by the higher one in any case.
    @discardableResult
    package mutating func apply(_ summary: ReadSummary, since: CountedSince = CountedSince()) -> Bool {
        guard summary.epoch == epoch else { return false }
        readSeq = max(readSeq, summary.readSeq)
        if let pending = pendingReadSeq, summary.readSeq >= pending { confirm() }
        guard summary.rev >= computedAt.rev, summary.userRev >= computedAt.userRev else { return false }

        let mine = (unread: unread, mentions: mentions, stamp: computedAt, lowestN: lowestUnreadN)
        computedAt = Stamp(of: summary)
        exactThrough = summary.seq
        unread = summary.unread
        mentions = summary.mentions
        isMarkedUnread = summary.isMarkedUnread && pendingReadSeq == nil
        if summary.seq < mine.stamp.seq {
            // What came since is the difference in running numbers, the user's own apart.
            unread += max(0, mine.stamp.n - summary.n - since.own)
            mentions += since.mentions
            computedAt.seq = mine.stamp.seq
            computedAt.n = mine.stamp.n
        }
        if let pending = pendingReadSeq {
            // The answer still counts what was read here: it can't be more than what was left here and what came since.
            unread = min(unread, mine.unread + max(0, computedAt.n - mine.lowestN))
            if let pendingN { unread = min(unread, max(0, computedAt.n - pendingN)) }
            mentions = min(mentions, max(0, computedAt.seq - pending))
            if computedAt.seq == mine.stamp.seq { mentions = min(mentions, mine.mentions) }
        }
        return true
    }

    /// Counts a message on, the user's own apart.
    ///
    /// - Returns: whether messages were skipped. What they were is not known: own ones among them are counted until the next
    ///   summary, so it should be asked for.
    @discardableResult
    package mutating func apply(_ message: Message, reader: UserID) -> Bool {
        guard message.seq > computedAt.seq else { return false }
        let skips = message.seq > computedAt.seq + 1
        let isMine = message.sender == reader
        let own: Int64 = isMine && message.type.traits.less(message.attributes.traits).countsUnread ? 1 : 0
        if message.seq > readSeq {
            unread += max(0, message.n - lowestUnreadN - own)
            if !isMine, message.attributes.mentions?.includes(reader) == true { mentions += 1 }
        }
        computedAt.seq = message.seq
        computedAt.n = message.n
        return skips
    }

    /// Corrects the counts by a message that was skipped when they were made, and is known now.
    package mutating func learned(_ message: Message, reader: UserID) {
        guard message.seq > max(exactThrough, readSeq), message.seq <= computedAt.seq else { return }
        if message.sender == reader {
            if message.type.traits.less(message.attributes.traits).countsUnread { unread = max(0, unread - 1) }
        } else if message.attributes.mentions?.includes(reader) == true {
            mentions += 1
        }
    }

    /// What came between the place a summary was computed at and this device's own.
    package struct CountedSince: Hashable, Sendable {
        /// Countable messages of the user's own.
        package var own: Int64 = 0
        /// Messages of others that mention the user.
        package var mentions: Int64 = 0

        package init() {}
    }

    /// Marks everything up to a place as read, here and now.
    ///
    /// - Parameter n: the running number there, where the row is known.
    package mutating func markRead(upTo seq: Seq, n: Int64? = nil) {
        guard seq > readSeq || isMarkedUnread && seq == readSeq else { return }
        readSeq = seq
        isMarkedUnread = false
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
