import GRDB
import ScrollbackModel
import ScrollbackSync
import SQLiteSupport

/// Updates a conversation's entry in the list of recent conversations, in the same transaction as its log.
extension LocalWriter {
    /// Applies the parts of an input that concern the entry itself.
    func updateEntry(_ input: LogInput, before: LogState?, _ log: OpenLog, in id: ConversationID) throws {
        if let before, before.epoch != log.state?.epoch { try resetEntry(id, number: log.number) }
        guard case .head(let head) = input else { return }
        // An outdated head has an old name or membership, or ignores messages that the user hid since. A conversation
        // for which the server reports no time is not listed, unless it has messages on this device.
        let shown = try reader.stored(
            ["name": head.name, "avatar": head.avatar], of: .conversation(id), numbered: log.number)
        try db.cachedStatement(
            sql: """
                UPDATE conversation SET name = ?1, avatar = ?2, recentTime = ?3, moved = ?4, isFrozen = ?5,
                    mutedUntil = ?6, roamSeq = ?7, isRecent = isRecent AND ?3 IS NOT NULL
                WHERE number = ?8 AND moved <= ?4 AND memberRev <= ?9
                """
        ).execute(arguments: [
            shown[0], shown[1], head.recentTime.map { Int64(bitPattern: $0.rawValue) }, head.lastCommit, head.isFrozen,
            head.mute?.stored, head.newDeviceFloor, log.number, head.userRev,
        ])
        // The peer's read position only increases, whichever answer reports it.
        if head.peerReadSeq > 0 { try savePeerRead(head.peerReadSeq, in: id) }
        try db.cachedStatement(
            sql: "UPDATE conversation SET isMember = ?1, memberRev = ?3 WHERE number = ?2 AND memberRev <= ?3"
        ).execute(arguments: [head.isMember, log.number, head.userRev])
        try applySettings(of: ReadSummary(head), in: id, number: log.number, isRead: log.read?.pendingReadSeq != nil)
    }

    /// Resets the entry after the conversation got a new epoch.
    ///
    /// Mute, pin and notification settings stay; everything else is meaningless in the new log.
    private func resetEntry(_ id: ConversationID, number: Int64) throws {
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

    /// Applies the settings in `summary`, unless they are older than the known ones.
    ///
    /// Unconfirmed local settings stay.
    ///
    /// If an unread marker ended, the entry's presence in the list is evaluated again.
    ///
    /// - Parameter isRead: Whether a local read is still unconfirmed.
    func applySettings(of summary: ReadSummary, in id: ConversationID, number: Int64, isRead: Bool) throws {
        let pending = try reader.pendingSettingKinds(in: id)
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
            // The local read ends the marker once the server receives it.
            pending.contains(.mark) ? nil : summary.isMarkedUnread && !isRead,
            pending.contains(.list) ? nil : summary.removedSeq, number, summary.notifications?.rawValue,
            pending.contains(.notifications),
        ])
    }

    /// Finds the message to show: the newest one that the list does not skip, the current one if none is near, or the
    /// newest.
    private static let lastSeq = """
        coalesce(
            (SELECT seq FROM message
             WHERE conversation = ?1 AND flags & \(MessageTraits.skipsRecentsBit) = 0
             AND seq > (SELECT max(seq) FROM message WHERE conversation = ?1) - \(MessageTraits.recentsDepth)
             ORDER BY seq DESC LIMIT 1),
            (SELECT lastSeq FROM conversation WHERE number = ?1 AND EXISTS
                (SELECT 1 FROM message WHERE conversation = ?1 AND seq = lastSeq
                 AND flags & \(MessageTraits.skipsRecentsBit) = 0)),
            (SELECT max(seq) FROM message WHERE conversation = ?1), 0)
        """

    /// Updates the last message of the entry.
    ///
    /// The server must be asked in two cases. Either the last message disappeared without a replacement, so that only
    /// the server knows when the conversation was last active. Or an older message replaces it, with gaps between the
    /// two.
    ///
    /// - Parameters:
    ///   - gaps: The gaps of the log.
    ///   - hadRow: Whether the transaction inserted a message, even if it deleted it again.
    /// - Returns: Whether the server must be asked.
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

    /// Updates whether the conversation is in the list, and its position.
    ///
    /// It is listed if it has messages after its removal from the list, or if the user added it explicitly. A
    /// conversation whose messages were deleted stays until the server reports its last activity.
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
