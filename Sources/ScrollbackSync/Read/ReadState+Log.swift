package import ScrollbackModel

// Updates of the counts after changes of the log. Within a transaction, apply changes first, then deletions, and then
// call `updateCounts`.

extension ReadState {
    /// Updates the counts after a message changed, for example because it no longer counts or its mentions changed.
    ///
    /// The change is recorded even if the message is outside of the counted range, because an older answer of the
    /// server may still count it.
    ///
    /// - Parameters:
    ///   - new: The message after the change.
    ///   - old: The stored message before the change, if any.
    ///   - reader: The user.
    ///   - mayHaveSentLater: Whether the user may have sent something after the message. Sending advances the read
    ///     position, and only the server knows how far. An added mention may be below it.
    package mutating func changed(
        _ new: Message, replacing old: Message?, reader: UserID, mayHaveSentLater: @autoclosure () throws -> Bool
    ) rethrows {
        guard new.sender != reader else { return }
        let isCounted = new.rev > countedAt.rev && new.seq > position && new.seq <= countedAt.seq
        guard let old else {
            lastCountChangeRev = max(lastCountChangeRev, new.rev)
            // The previous version is unknown. If all counts are zero, the change can't have lowered them.
            let mayMatter = unread > 0 || mentions > 0 || new.isMention(of: reader)
            if isCounted, mayMatter { markEstimated() }
            return
        }
        let (isMention, wasMention) = (new.isMention(of: reader), old.isMention(of: reader))
        guard new.countsUnread != old.countsUnread || isMention != wasMention else { return }
        lastCountChangeRev = max(lastCountChangeRev, new.rev)
        guard isCounted else { return }
        unread = max(0, unread + (new.countsUnread ? 1 : 0) - (old.countsUnread ? 1 : 0))
        mentions = max(0, mentions + (isMention ? 1 : 0) - (wasMention ? 1 : 0))
        if isMention, !wasMention, try mayHaveSentLater() { certainty = .disputed }
    }

    /// Records a change that did not affect the counts.
    ///
    /// If the counts don't include the changes before it, one of them may still affect the counts. They then keep their
    /// revision, so that `updateCounts` finds that changes are missing.
    ///
    /// - Parameters:
    ///   - rev: The revision of the change.
    ///   - previous: The newest revision that was known before the change.
    package mutating func advanceRevision(to rev: Int64, after previous: Int64) {
        if countedAt.rev >= previous { countedAt.rev = max(countedAt.rev, rev) }
    }

    /// Updates the counts after a range was deleted for everyone or for this user.
    ///
    /// - Parameter rev: The revision of the deletion; `nil` if it has none.
    package mutating func erased(_ places: SeqRange, rev: Int64? = nil) {
        if let rev {
            lastCountChangeRev = max(lastCountChangeRev, rev)
            if rev <= countedAt.rev { return }
        }
        guard places.upperBound > position, places.lowerBound <= countedAt.seq, unread > 0 || mentions > 0 else {
            return
        }
        markEstimated()
    }

    /// Records that the rows up to a sequence number were deleted from this device.
    ///
    /// Exact counts need no correction when messages fill the gap again.
    package mutating func forgot(through seq: Seq) {
        if isExact { knownThrough = max(knownThrough, min(seq, countedAt.seq)) }
    }

    /// Corrects the counts for a message that filled a gap.
    ///
    /// The estimate assumed that the message was from another user and did not mention this user.
    package mutating func gapFilled(_ message: Message, reader: UserID) {
        guard message.seq > max(knownThrough, position), message.seq <= countedAt.seq else { return }
        if message.sender == reader {
            if message.countsUnread { unread = max(0, unread - 1) }
        } else {
            if message.isMention(of: reader) { mentions += 1 }
        }
    }

    /// Advances the counts to the current state of the log, and recounts if possible.
    ///
    /// - Parameters:
    ///   - log: The state of the log.
    ///   - receivesOwnMessages: Whether the device always receives the user's own messages and mentions. Gaps then
    ///     contain only messages of other users.
    ///   - count: Counts the stored messages of a range; returns `nil` if the range is too long.
    package mutating func updateCounts(
        _ log: LogState, receivesOwnMessages: Bool, count: (SeqRange) throws -> RangeCounts?
    ) rethrows {
        guard log.epoch == epoch else { return }
        let floor = max(position, log.firstSeq - 1)
        let head = max(log.head, countedAt.seq)
        if log.head > countedAt.seq {
            try advance(to: log, above: floor, receivesOwnMessages: receivesOwnMessages, count)
        }
        if floor >= head {
            (unread, mentions, certainty) = (0, 0, .exact)
            knownThrough = max(knownThrough, head)
        }
        countedAt.rev = max(countedAt.rev, log.rev)
        // Missing changes would not be reflected in the counts.
        guard log.latestRev <= countedAt.rev else {
            if floor < head { markEstimated() }
            return
        }
        guard certainty == .estimated, countedAt.seq <= log.head, log.rev >= countedAt.rev, floor < head,
            let counted = try count(floor + 1...head), counted.isComplete
        else { return }
        (unread, mentions, certainty) = (counted.unread, counted.mentions, .exact)
        knownThrough = head
    }

    private mutating func advance(
        to log: LogState, above floor: Seq, receivesOwnMessages: Bool, _ count: (SeqRange) throws -> RangeCounts?
    ) rethrows {
        let from = max(floor, countedAt.seq)
        if from < log.head {
            let counted = try count(from + 1...log.head)
            if let counted, counted.isComplete {
                unread += counted.unread
                mentions += counted.mentions
                if knownThrough >= countedAt.seq || from == floor { knownThrough = log.head }
            } else {
                unread += max(
                    0,
                    log.countedIndex - max(countedAt.countedIndex, pendingReadCountedIndex ?? 0) - (counted?.own ?? 0))
                mentions += counted?.mentions ?? 0
                if !receivesOwnMessages || counted == nil { markEstimated() }
            }
        }
        countedAt.seq = log.head
        countedAt.countedIndex = log.countedIndex
    }

    /// Marks everything up to a sequence number as read on this device.
    ///
    /// - Parameter countedIndex: The counted index at `seq`, if the row is known.
    package mutating func markRead(upTo seq: Seq, countedIndex: Int64?) {
        guard seq >= position else { return }
        let moves = seq > position
        pendingReadSeq = seq
        pendingReadCountedIndex = countedIndex
        guard moves else { return }
        if seq >= countedAt.seq {
            (unread, mentions) = (0, 0)
        } else {
            if unread > 0 || mentions > 0 { markEstimated() }
            if let countedIndex { unread = min(unread, max(0, countedAt.countedIndex - countedIndex)) }
            mentions = min(mentions, countedAt.seq - seq)
        }
    }

    /// Discards the pending read because the server will never accept it.
    package mutating func dropPendingRead() {
        guard pendingReadSeq != nil else { return }
        pendingReadSeq = nil
        pendingReadCountedIndex = nil
        markEstimated()
    }

    /// Marks the counts as estimated, until the server sends new ones or the device recounts.
    mutating func markEstimated() {
        if certainty == .exact { certainty = .estimated }
    }
}

extension Message {
    fileprivate func isMention(of user: UserID) -> Bool { attributes.mentions?.includes(user) == true }
}
