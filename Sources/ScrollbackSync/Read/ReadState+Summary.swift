package import ScrollbackModel

extension ReadState {
    /// Takes what the server counted, unless it was counted before something this device knows of.
    ///
    /// `follow` comes after it: what came since is counted on there.
    ///
    /// - Parameter answersRead: whether it is the answer to what was marked read here.
    package mutating func apply(_ summary: ReadSummary, answersRead: Bool = false) {
        guard summary.epoch == epoch else { return }
        let before = position
        readSeq = max(readSeq, summary.readSeq)
        // Where there was nothing to read but a mark to end, the place says nothing of whether the server has heard of it; nor that
        // there was none before something that is known: a mark may have been heard of since, and passed over for what is told.
        if let pending = pendingReadSeq,
            summary.readSeq > pending
                || summary.readSeq == pending
                    && (answersRead || !summary.isMarkedUnread && summary.userRev >= countedAt.userRev)
        {
            pendingReadSeq = nil
            pendingN = nil
        }
        guard summary.userRev >= countedAt.userRev else { return }
        countedAt.userRev = summary.userRev
        // It has all that was done to messages as far as it was counted here, and was read no less far than is known.
        if summary.rev >= touchedRev, summary.readSeq >= before {
            unread = summary.unread
            mentions = summary.mentions
            countedAt = Stamp(of: summary)
            knownThrough = summary.seq
            // Which of the changes it has altered the counts is not known: an older answer may lack one that did.
            touchedRev = max(touchedRev, summary.rev)
            certainty = .exact
        } else if position > before || summary.readSeq < before {
            // Its counts are of another place: what is left above is counted anew, or asked for.
            bound(from: before)
        } else {
            doubt()
        }
    }

    /// What the user sees of the log is another: how far it counted as read before says nothing now.
    ///
    /// Only the server knows how far it is read, unless it was read here just now.
    package mutating func seeAnew() {
        readSeq = 0
        certainty = max(certainty, pendingReadSeq == nil ? .disputed : .estimated)
    }

    /// No more is left than was, and than there is above the place that was read to.
    private mutating func bound(from before: Seq) {
        guard position > before else { return }
        if unread > 0 || mentions > 0 { doubt() }
        if position >= countedAt.seq { (unread, mentions) = (0, 0) }
        mentions = min(mentions, max(0, countedAt.seq - position))
    }
}
