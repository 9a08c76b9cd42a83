package import ScrollbackModel

// What the log's coming and going does to the counts. The order within one transaction: what changed, what went, then
// `follow`.

extension ReadState {
    /// A message changed: one that counts no more, or mentions the user no more, or now does.
    ///
    /// Of what this device has yet to count, or counted as read, an answer from before the change may say more: that it is
    /// older is noted wherever the message lies.
    ///
    /// - Parameters:
    ///   - old: the message as it was here, where it was held.
    ///   - mayHavePassed: whether the user may have sent something after the message. Sending moves the position on, and
    ///     how far only the server knows: a mention that comes late may lie behind it.
    package mutating func changed(
        _ new: Message, replacing old: Message?, reader: UserID, mayHavePassed: @autoclosure () throws -> Bool
    ) rethrows {
        guard new.sender != reader else { return }
        let isCounted = new.rev > countedAt.rev && new.seq > position && new.seq <= countedAt.seq
        guard let old else {
            touchedRev = max(touchedRev, new.rev)
            // What it was is not known; to have taken something away something must have been there.
            let mayMatter = unread > 0 || mentions > 0 || new.isMention(of: reader)
            if isCounted, mayMatter { doubt() }
            return
        }
        let (isMention, wasMention) = (new.isMention(of: reader), old.isMention(of: reader))
        guard new.countsUnread != old.countsUnread || isMention != wasMention else { return }
        touchedRev = max(touchedRev, new.rev)
        guard isCounted else { return }
        unread = max(0, unread + (new.countsUnread ? 1 : 0) - (old.countsUnread ? 1 : 0))
        mentions = max(0, mentions + (isMention ? 1 : 0) - (wasMention ? 1 : 0))
        if isMention, !wasMention, try mayHavePassed() { certainty = .disputed }
    }

    /// What was changed up to here altered no counts.
    package mutating func pass(_ rev: Int64) {
        countedAt.rev = max(countedAt.rev, rev)
    }

    /// Places are gone, for everyone or for the user alone.
    ///
    /// - Parameter rev: the change that took them; without one, nothing but the places themselves says when.
    package mutating func erased(_ places: SeqRange, rev: Int64? = nil) {
        if let rev {
            touchedRev = max(touchedRev, rev)
            if rev <= countedAt.rev { return }
        }
        guard places.upperBound > position, places.lowerBound <= countedAt.seq, unread > 0 || mentions > 0 else {
            return
        }
        doubt()
    }

    /// A message that lay in a gap is known now: it was taken for one of somebody else's that mentions nobody.
    package mutating func learned(_ message: Message, reader: UserID) {
        guard message.seq > max(knownThrough, position), message.seq <= countedAt.seq else { return }
        if message.sender == reader {
            if message.countsUnread { unread = max(0, unread - 1) }
        } else {
            if message.isMention(of: reader) { mentions += 1 }
        }
    }

    /// Follows the log to where it stands now, and counts anew what can be.
    ///
    /// - Parameters:
    ///   - hearsOwn: whether the user's own messages and mentions are told even where nothing else is, so that what lies in
    ///     gaps is others'.
    ///   - count: what is held of a run of places; nothing where it is too long to look at.
    package mutating func follow(
        _ log: LogState, hearsOwn: Bool, count: (SeqRange) throws -> Counted?
    ) rethrows {
        guard log.epoch == epoch else { return }
        let floor = max(position, log.firstSeq - 1)
        let head = max(log.head, countedAt.seq)
        if log.head > countedAt.seq {
            try advance(to: log, above: floor, hearsOwn: hearsOwn, count)
        }
        if floor >= head {
            (unread, mentions, certainty) = (0, 0, .exact)
            knownThrough = max(knownThrough, head)
        }
        countedAt.rev = max(countedAt.rev, log.rev)
        // Changes that are missing would be counted as if they had not been.
        guard log.latestRev <= countedAt.rev else {
            if floor < head { doubt() }
            return
        }
        guard certainty == .estimated, countedAt.seq <= log.head, log.rev >= countedAt.rev, floor < head,
            let counted = try count(floor + 1...head), counted.isWhole
        else { return }
        (unread, mentions, certainty) = (counted.unread, counted.mentions, .exact)
        knownThrough = head
    }

    private mutating func advance(
        to log: LogState, above floor: Seq, hearsOwn: Bool, _ count: (SeqRange) throws -> Counted?
    ) rethrows {
        let from = max(floor, countedAt.seq)
        if from < log.head {
            let counted = try count(from + 1...log.head)
            if let counted, counted.isWhole {
                unread += counted.unread
                mentions += counted.mentions
                if knownThrough >= countedAt.seq || from == floor { knownThrough = log.head }
            } else {
                unread += max(0, log.n - max(countedAt.n, pendingN ?? 0) - (counted?.own ?? 0))
                mentions += counted?.mentions ?? 0
                if !hearsOwn || counted == nil { doubt() }
            }
        }
        countedAt.seq = log.head
        countedAt.n = log.n
    }

    /// Marks everything up to a place as read, here and now.
    ///
    /// - Parameter n: the running number there, where the row is known.
    package mutating func markRead(upTo seq: Seq, n: Int64?) {
        guard seq >= position else { return }
        let moves = seq > position
        pendingReadSeq = seq
        pendingN = n
        guard moves else { return }
        if seq >= countedAt.seq {
            (unread, mentions) = (0, 0)
        } else {
            if unread > 0 || mentions > 0 { doubt() }
            if let n { unread = min(unread, max(0, countedAt.n - n)) }
            mentions = min(mentions, countedAt.seq - seq)
        }
    }

    /// The server will never take what was marked read here.
    package mutating func dropPendingRead() {
        guard pendingReadSeq != nil else { return }
        pendingReadSeq = nil
        pendingN = nil
        doubt()
    }

    /// The counts are near, no more: only the server, or counting anew, says what they are.
    mutating func doubt() {
        if certainty == .exact { certainty = .estimated }
    }
}

extension Message {
    fileprivate func isMention(of user: UserID) -> Bool { attributes.mentions?.includes(user) == true }
}
