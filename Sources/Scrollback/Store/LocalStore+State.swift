import GRDB
package import ScrollbackModel
package import ScrollbackSync
import ScrollbackWire
import SQLiteSupport

/// A user setting that the server has not confirmed.
package struct PendingSetting: Sendable {
    package var conversation: ConversationID
    package var kind: SettingKind
    package var change: StateChange
}

extension LocalReader {
    func pendingSettingKinds(in id: ConversationID) throws -> Set<SettingKind> {
        let sorts = try String.fetchAll(
            db.cachedStatement(sql: "SELECT sort FROM pendingState WHERE conversation = ?"),
            arguments: [id.description])
        return Set(sorts.compactMap { SettingKind(rawValue: $0) })
    }

    /// Returns the unconfirmed settings, at most one for each conversation; the others follow it.
    ///
    /// - Parameter withReads: Whether read positions are synced, and therefore sent before other settings. If not,
    ///   unread markers are not sent either.
    package func pendingSettings(withReads: Bool = true) throws -> [PendingSetting] {
        let isNext =
            withReads
            ? """
            NOT EXISTS (SELECT 1 FROM conversation
                        WHERE id = pendingState.conversation AND pendingReadSeq IS NOT NULL)
            """ : "sort <> 'mark'"
        return try Row.fetchAll(
            db,
            sql: "SELECT conversation, min(sort), body FROM pendingState WHERE \(isNext) GROUP BY conversation"
        ).compactMap { row in
            guard let change = try? StateChange(stored: row[2]), let kind = change.kind else { return nil }
            return PendingSetting(conversation: try ConversationID(row[0] as String), kind: kind, change: change)
        }
    }

    /// Returns the newest known position of a log.
    package func newestPosition(of id: ConversationID) throws -> EpochPosition? {
        try log(of: id).map { EpochPosition(seq: $0.head, epoch: $0.epoch) }
    }

    /// Returns whether a conversation is in the list without a last message.
    func isListedWithoutMessage(_ id: ConversationID) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(
                sql: "SELECT EXISTS (SELECT 1 FROM conversation WHERE id = ? AND isRecent AND lastSeq = 0)"),
            arguments: [id.description]) ?? false
    }

    /// Returns conversations whose counts only the server can correct, except those that wait for an answer.
    ///
    /// Channels are included because the server does not send missed channel messages on its own.
    package func uncertainConversations() throws -> [ConversationID] {
        try String.fetchAll(
            db,
            sql: """
                SELECT id FROM conversation
                WHERE certainty > 0 AND isMember AND epoch IS NOT NULL AND \(Self.hasRecents) AND pendingReadSeq IS NULL
                    AND (kind = 'community' OR replayed >= head AND rev >= latestRev)
                """
        ).map { try ConversationID($0) }
    }

    /// Returns conversations with unread messages, of one kind or all, listed or not.
    package func unreadConversations(of kind: ConversationKind?) throws -> [ConversationID] {
        try String.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT id FROM conversation
                    WHERE (unread > 0 OR mentions > 0 OR isMarkedUnread OR certainty > 0)
                        AND \(Self.hasRecents)
                        AND (?1 IS NULL OR kind = ?1)
                    """), arguments: [kind?.rawValue]
        ).map { try ConversationID($0) }
    }

    /// Returns whether the server's state means that messages were read, or that an unread marker ended.
    package func isRead(by summary: ReadSummary, in id: ConversationID) throws -> Bool {
        guard let entry = try recent(id), let state = try readState(of: id) else { return false }
        let hasMore = entry.unread > 0 || entry.mentions > 0
        if hasMore, summary.readSeq > state.position { return true }
        // An unread marker that the server has not received yet can't have ended.
        return try entry.isMarkedUnread && !summary.isMarkedUnread && !pendingSettingKinds(in: id).contains(.mark)
    }

    func isMarkedUnread(_ number: Int64) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT isMarkedUnread FROM conversation WHERE number = ?"), arguments: [number])
            ?? false
    }
}

extension LocalWriter {
    /// Applies a setting, and records that it must be sent to the server.
    ///
    /// - Returns: Whether it changed anything.
    package func set(_ change: StateChange, in id: ConversationID) throws -> Bool {
        var entry = try entry(of: id)
        guard let kind = change.kind, entry.value.apply(change) else { return false }
        try saveListing(entry)
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO pendingState VALUES (?, ?, ?)")
            .execute(arguments: [id.description, kind.rawValue, change.stored])
        return true
    }

    /// Records which unread markers a pending read knows of, however much later it is sent.
    ///
    /// The revision covers markers of other devices. If this device's own marker is unconfirmed, it may still have
    /// reached the server. The read then ends every marker.
    func recordKnownUnreadMarkers(_ number: Int64) throws {
        try db.cachedStatement(
            sql: """
                UPDATE conversation SET pendingReadRev = iif(
                    EXISTS (SELECT 1 FROM pendingState WHERE conversation = id AND sort = 'mark')
                        OR pendingReadSeq IS NOT NULL AND pendingReadRev IS NULL,
                    NULL, ownRev)
                WHERE number = ?
                """
        ).execute(arguments: [number])
    }

    /// Ends an unread marker when the conversation is read; an unsent marker is never sent.
    func endUnreadMarker(_ id: ConversationID, number: Int64) throws {
        var entry = try reader.entry(of: id, numbered: number)
        entry.value.endUnreadMarker()
        try saveListing(entry)
        try db.cachedStatement(sql: "DELETE FROM pendingState WHERE conversation = ? AND sort = 'mark'")
            .execute(arguments: [id.description])
    }

    /// Deletes a setting that the server accepted or rejected, unless it was changed again in the meantime.
    package func removePending(_ pending: PendingSetting) throws {
        // A pending read ended the accepted marker, so a recorded marker is a newer one.
        try db.cachedStatement(
            sql: """
                DELETE FROM pendingState WHERE conversation = ?1 AND sort = ?2 AND body = ?3
                    AND NOT (sort = 'mark' AND EXISTS
                        (SELECT 1 FROM conversation WHERE id = ?1 AND pendingReadSeq IS NOT NULL))
                """
        ).execute(arguments: [
            pending.conversation.description, pending.kind.rawValue, pending.change.stored,
        ])
        if case .removeRecent(at: let place, excludesFromNewDevices: true) = pending.change {
            try removePending(
                PendingSetting(
                    conversation: pending.conversation, kind: .roaming, change: .excludeFromNewDevices(at: place)))
        }
    }

    /// Adds a conversation to the list.
    ///
    /// - Parameters:
    ///   - time: The time to sort it by; `nil` for the time of its last message.
    ///   - showsLast: Whether its last message is shown. If not, none is shown until the next message.
    /// - Returns: Whether the server must be notified that it is in the list again.
    package func addRecent(_ id: ConversationID, at time: Timetoken?, showsLast: Bool) throws -> Bool {
        var entry = try entry(of: id)
        if entry.value.isListed { return false }
        let wasRemoved = entry.value.add(at: time, showsLast: showsLast)
        try saveListing(entry)
        guard wasRemoved else { return false }
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO pendingState VALUES (?, ?, ?)")
            .execute(arguments: [id.description, SettingKind.list.rawValue, StateChange.addRecent.stored])
        return true
    }

    /// Removes a conversation from the list.
    ///
    /// - Returns: Whether it was in the list.
    package func removeRecent(_ id: ConversationID, marksRead: Bool, excludesFromNewDevices: Bool) throws -> Bool {
        guard try reader.recent(id) != nil else { return false }
        if marksRead { _ = try markRead(id, upTo: nil) }
        let place = try reader.newestPosition(of: id)
        let change = StateChange.removeRecent(at: place, excludesFromNewDevices: excludesFromNewDevices)
        if case .removeRecent(nil, _) = change {
            // The conversation was added explicitly and has no known messages. The server has nothing to remove, and
            // would remove messages sent since.
            var entry = try entry(of: id)
            _ = entry.value.apply(change)
            try saveListing(entry)
            return true
        }
        // Keep this setting separately, in case the conversation is added again before the server receives the removal.
        if excludesFromNewDevices { _ = try set(.excludeFromNewDevices(at: place), in: id) }
        return try set(change, in: id)
    }

    /// Stores the app-defined data of an entry.
    package func setExtension(_ json: RawJSON?, of id: ConversationID) throws {
        let number = try number(of: id)
        let stored = try reader.stored(["extension": json?.text], of: .conversation(id), numbered: number)
        try db.cachedStatement(sql: "UPDATE conversation SET extension = ? WHERE number = ?")
            .execute(arguments: [stored[0], number])
    }
}
