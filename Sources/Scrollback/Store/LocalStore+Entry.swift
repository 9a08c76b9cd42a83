import GRDB
import ScrollbackModel
import ScrollbackSync
import StoreFiles

/// A conversation's entry in the list of recents, kept in step with its log in the transaction that changes it.
extension LocalWriter {
    /// Takes what an input says of the entry itself.
    func follow(_ input: LogInput, before: LogState?, _ log: OpenLog, in id: ConversationID) throws {
        if let before, before.epoch != log.state?.epoch { try startEntryOver(id, number: log.number) }
        guard case .head(let head) = input else { return }
        // A head that was long on its way has an older name, says who was a member then, or knows nothing of what the user hid
        // since. What the server has no time for has no place in the list, unless something of it is here.
        let shown = try reader.stored(
            ["name": head.name, "avatar": head.avatar], of: .conversation(id), numbered: log.number)
        try db.cachedStatement(
            sql: """
                UPDATE conversation SET name = ?1, avatar = ?2, recentTime = ?3, moved = ?4, isFrozen = ?5, mutedUntil = ?6,
                    roamSeq = ?7, isRecent = isRecent AND ?3 IS NOT NULL
                WHERE number = ?8 AND moved <= ?4 AND memberRev <= ?9
                """
        ).execute(arguments: [
            shown[0], shown[1], head.recentTime.map { Int64(bitPattern: $0.rawValue) }, head.moved, head.isFrozen,
            head.mute?.stored, head.roamSeq, log.number, head.userRev,
        ])
        // What the other person has read only rises, whichever answer says so.
        if head.peerReadSeq > 0 { try notePeerRead(head.peerReadSeq, in: id) }
        try db.cachedStatement(
            sql: "UPDATE conversation SET isMember = ?1, memberRev = ?3 WHERE number = ?2 AND memberRev <= ?3"
        ).execute(arguments: [head.isMember, log.number, head.userRev])
        try takeSettings(of: ReadSummary(head), in: id, number: log.number, isRead: log.read?.pendingReadSeq != nil)
    }

    /// What was set in another log: what is muted and pinned stays so, the rest means nothing here.
    private func startEntryOver(_ id: ConversationID, number: Int64) throws {
        try db.cachedStatement(
            sql: """
                UPDATE conversation SET isMarkedUnread = 0, ownRev = 0, memberRev = 0, moved = 0, removedSeq = 0,
                    recentTime = NULL, lastSeq = 0, lastRev = 0, isRecent = 0, sortTime = 0, missedAfter = 0,
                    peerReadSeq = 0, roamSeq = 0, pendingReadSeq = NULL, pendingReadN = NULL
                WHERE number = ?
                """
        ).execute(arguments: [number])
        try db.cachedStatement(
            sql: "DELETE FROM pendingState WHERE conversation = ? AND sort NOT IN ('muted', 'pinned', 'notifications')"
        ).execute(arguments: [id.description])
    }

    /// Takes what the server says is set, but for what was set here and not confirmed, unless it is older than what is known.
    ///
    /// Where a mark ended, what else keeps the entry in the list is looked at anew.
    ///
    /// - Parameter isRead: whether something was marked read here that the server has not heard of.
    func takeSettings(of summary: ReadSummary, in id: ConversationID, number: Int64, isRead: Bool) throws {
        let pending = try reader.pendingSorts(in: id)
        try db.cachedStatement(
            sql: """
                UPDATE conversation SET ownRev = ?1, isMuted = ifnull(?2, isMuted), isPinned = ifnull(?3, isPinned),
                    isMarkedUnread = ifnull(?4, isMarkedUnread), removedSeq = ifnull(?5, removedSeq),
                    isRecent = isRecent AND isMarkedUnread <= ifnull(?4, isMarkedUnread),
                    addedTime = iif(?5 > removedSeq, NULL, addedTime), notifications = iif(?8, notifications, ?7)
                WHERE number = ?6 AND ownRev <= ?1
                """
        ).execute(arguments: [
            summary.userRev, pending.contains(.muted) ? nil : summary.isMuted,
            pending.contains(.pinned) ? nil : summary.isPinned,
            // What is read here ends the mark once the server hears of it.
            pending.contains(.mark) ? nil : summary.isMarkedUnread && !isRead,
            pending.contains(.list) ? nil : summary.removedSeq, number, summary.notifications?.rawValue,
            pending.contains(.notifications),
        ])
    }

    /// The newest message that the list does not pass over, the one it showed while there is none near, or the newest.
    private static let lastSeq = """
        coalesce(
            (SELECT seq FROM message
             WHERE conversation = ?1 AND flags & \(MessageTraits.passedOver) = 0
             AND seq > (SELECT max(seq) FROM message WHERE conversation = ?1) - \(MessageTraits.recentsDepth)
             ORDER BY seq DESC LIMIT 1),
            (SELECT lastSeq FROM conversation WHERE number = ?1 AND EXISTS
                (SELECT 1 FROM message WHERE conversation = ?1 AND seq = lastSeq
                 AND flags & \(MessageTraits.passedOver) = 0)),
            (SELECT max(seq) FROM message WHERE conversation = ?1), 0)
        """

    /// Finds the last message anew.
    ///
    /// - Parameters:
    ///   - gaps: what of the log is not here.
    ///   - hadRow: whether the transaction brought a message, however soon it went again.
    /// - Returns: whether the server must be asked: there was one and is none any more, and when the conversation was last
    ///   active is the server's to say; or another takes its place, and what lies between the two is not all here.
    func refreshLast(_ number: Int64, gaps: SeqRangeSet, hadRow: Bool) throws -> Bool {
        let before =
            try Seq.fetchOne(
                db.cachedStatement(sql: "SELECT lastSeq FROM conversation WHERE number = ?"), arguments: [number]) ?? 0
        guard let last = try Seq.fetchOne(db.cachedStatement(sql: "SELECT \(Self.lastSeq)"), arguments: [number]) else {
            return false
        }
        try db.cachedStatement(
            sql: """
                UPDATE conversation SET hidesLast = hidesLast AND ?2 <= lastSeq, lastSeq = ?2,
                    lastRev = coalesce((SELECT rev FROM message WHERE conversation = ?1 AND seq = ?2), 0)
                WHERE number = ?1
                """
        ).execute(arguments: [number, last])
        return last == 0 ? hadRow || before > 0 : last < before && gaps.intersects(last + 1...before)
    }

    /// Whether it has an entry in the list, and where it stands there.
    ///
    /// Something must have been said there since it was taken out; or it was put in by hand. What stood there for messages
    /// that went stays until the server says when the conversation was last active.
    func refreshEntry(_ number: Int64) throws {
        try db.cachedStatement(
            sql: """
                UPDATE conversation SET
                    isRecent = kind <> 'room' AND (addedTime IS NOT NULL
                        OR iif(lastSeq > 0, lastSeq, head) > removedSeq
                        AND (lastSeq > 0 OR isRecent OR recentTime IS NOT NULL OR unread > 0 OR mentions > 0
                            OR isMarkedUnread)),
                    sortTime = max(
                        coalesce((SELECT timetoken FROM message WHERE conversation = ?1 AND seq = lastSeq),
                            recentTime, sortTime),
                        coalesce(addedTime, 0))
                WHERE number = ?1
                """
        ).execute(arguments: [number])
    }
}
