package import ScrollbackModel

extension ReadState {
    /// Applies counts from the server, unless they are older than something this device knows.
    ///
    /// Call `updateCounts` afterwards to count newer messages.
    ///
    /// - Parameter answersRead: Whether this is the answer to a pending read.
    package mutating func apply(_ summary: ReadSummary, answersRead: Bool = false) {
        guard summary.epoch == epoch else { return }
        let before = position
        readSeq = max(readSeq, summary.readSeq)
        // An equal position does not prove that the server received a read that only cleared the unread marker. The
        // proof is the answer to that read, or a current summary without the marker.
        if let pending = pendingReadSeq,
            summary.readSeq > pending
                || summary.readSeq == pending
                    && (answersRead || !summary.isMarkedUnread && summary.userRev >= countedAt.userRev)
        {
            pendingReadSeq = nil
            pendingReadCountedIndex = nil
        }
        guard summary.userRev >= countedAt.userRev else { return }
        countedAt.userRev = summary.userRev
        // The summary includes all known changes that affect counts, and its read position is not behind the local one.
        if summary.rev >= lastCountChangeRev, summary.readSeq >= before {
            unread = summary.unread
            mentions = summary.mentions
            countedAt = Stamp(of: summary)
            knownThrough = summary.seq
            // It is unknown which of the included changes altered the counts, so an older answer might lack one of
            // them.
            lastCountChangeRev = max(lastCountChangeRev, summary.rev)
            certainty = .exact
        } else if position > before || summary.readSeq < before {
            // The counts are for another read position: limit them until they are recounted or requested.
            limitCounts(from: before)
        } else {
            markEstimated()
        }
    }

    /// Handles a change of the user's view of the log, which invalidates the read position.
    ///
    /// Only the server knows the new position, unless this device has a pending read.
    package mutating func viewChanged() {
        readSeq = 0
        certainty = max(certainty, pendingReadSeq == nil ? .disputed : .estimated)
    }

    /// Limits the counts to the number of messages that can be above the new read position.
    private mutating func limitCounts(from before: Seq) {
        guard position > before else { return }
        if unread > 0 || mentions > 0 { markEstimated() }
        if position >= countedAt.seq { (unread, mentions) = (0, 0) }
        mentions = min(mentions, max(0, countedAt.seq - position))
    }
}
