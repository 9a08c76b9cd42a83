package import ScrollbackModel

// Changes of the entry that follow from the conversation's log.

extension RecentEntry {
    /// A stored message, as far as the list uses it.
    package struct StoredMessage: Hashable, Sendable {
        package var seq: Seq
        package var rev: Int64
        package var time: Timetoken
        /// Whether the list skips the message if another one is near.
        package var skipsRecents: Bool

        package init(seq: Seq, rev: Int64, time: Timetoken, skipsRecents: Bool) {
            self.seq = seq
            self.rev = rev
            self.time = time
            self.skipsRecents = skipsRecents
        }
    }

    /// Updates the last message after stored messages changed.
    ///
    /// The last message is the newest one that the list does not skip. If the newest messages are all skipped, it stays
    /// the current one, or becomes the newest if the current one is gone.
    ///
    /// The server must be asked in two cases. Either the last message disappeared without a replacement, so that only
    /// the server knows when the conversation was last active. Or an older message replaces it, with gaps between the
    /// two.
    ///
    /// - Parameters:
    ///   - gaps: The gaps of the log.
    ///   - hadRow: Whether the transaction inserted a message, even if it deleted it again.
    ///   - nextNewest: Returns the stored messages one by one, the newest first; usually called once.
    ///   - stored: Returns the stored message with a sequence number.
    /// - Returns: Whether the server must be asked.
    package mutating func updateLastMessage(
        gaps: SeqRangeSet, hadRow: Bool, nextNewest: () throws -> StoredMessage?,
        stored: (Seq) throws -> StoredMessage?
    ) rethrows -> Bool {
        let before = lastSeq
        let last = try Self.lastMessage(current: before, nextNewest, stored)
        lastSeq = last?.seq ?? 0
        lastRev = last?.rev ?? 0
        lastTime = last?.time
        if lastSeq > before { hidesLast = false }
        return lastSeq == 0 ? hadRow || before > 0 : lastSeq < before && gaps.intersects(lastSeq + 1...before)
    }

    private static func lastMessage(
        current: Seq, _ nextNewest: () throws -> StoredMessage?, _ stored: (Seq) throws -> StoredMessage?
    ) rethrows -> StoredMessage? {
        guard let newest = try nextNewest() else { return nil }
        var message = newest
        while message.skipsRecents {
            guard let next = try nextNewest(), next.seq > newest.seq - MessageTraits.recentsDepth else {
                let kept = current > 0 ? try stored(current) : nil
                return kept.flatMap { $0.skipsRecents ? nil : $0 } ?? newest
            }
            message = next
        }
        return message
    }

    /// Records the newest known sequence number when the device learns that it missed messages.
    ///
    /// - Parameters:
    ///   - before: The log before the input; `nil` if it was unknown.
    ///   - log: The log after the input.
    ///   - isLive: Whether the input is a live update, which can't precede messages that were missed earlier.
    package mutating func recordMissed(before: LogState?, _ log: LogState, isLive: Bool = false) {
        guard let before else {
            // A new device has missed nothing.
            if log.replayed < log.head { missedAfter = log.replayed }
            return
        }
        let known = before.head
        guard before.epoch == log.epoch, known < log.head else { return }
        if isLive, missedAfter != nil || !log.gaps.contains(known + 1) { return }
        // Keep the earlier value while messages that were missed since then are still missing.
        if let missedAfter, missedAfter < known, before.gaps.intersects(missedAfter + 1...known) { return }
        missedAfter = known
    }
}
