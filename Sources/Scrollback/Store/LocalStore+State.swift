import GRDB
package import ScrollbackModel
import ScrollbackSync
import ScrollbackWire
import StoreFiles

/// What the user sets in a conversation, here and now; the server is told when it can be.
package enum StateSort: String, Sendable {
    case muted, notifications, pinned, mark, list, roaming
}

/// Something the user set that the server has not confirmed.
package struct PendingState: Sendable {
    package var conversation: ConversationID
    package var sort: StateSort
    package var change: StateChange
}

extension StateChange {
    package var sort: StateSort? {
        switch self {
        case .settings(_?, _): .muted
        case .settings(nil, _): .pinned
        case .notifications: .notifications
        case .markUnread: .mark
        case .removeRecent, .addRecent: .list
        case .stopRoaming: .roaming
        case .read: nil
        }
    }
}

extension LocalReader {
    func pendingSorts(in id: ConversationID) throws -> Set<StateSort> {
        let sorts = try String.fetchAll(
            db.cachedStatement(sql: "SELECT sort FROM pendingState WHERE conversation = ?"),
            arguments: [id.description])
        return Set(sorts.compactMap { StateSort(rawValue: $0) })
    }

    /// What the server has not confirmed, one of a conversation: the others follow it.
    ///
    /// - Parameter withReads: whether the server is told what is read, and before anything else; else nothing of it.
    package func pendingStates(withReads: Bool = true) throws -> [PendingState] {
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
            guard let change = try? StateChange(stored: row[2]), let sort = change.sort else { return nil }
            return PendingState(conversation: try ConversationID(row[0] as String), sort: sort, change: change)
        }
    }

    /// The newest place of a log that is known.
    package func newestPlace(of id: ConversationID) throws -> LogPlace? {
        try log(of: id).map { LogPlace(seq: $0.head, epoch: $0.epoch) }
    }

    /// Whether a conversation is in the list without a message to show there.
    func isListedEmpty(_ id: ConversationID) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(
                sql: "SELECT EXISTS (SELECT 1 FROM conversation WHERE id = ? AND isRecent AND lastSeq = 0)"),
            arguments: [id.description]) ?? false
    }

    /// Conversations whose counts only the server can make right, but for those where an answer is on its way.
    ///
    /// What was missed in channels nobody sends by itself.
    package func uncertainConversations() throws -> [ConversationID] {
        try String.fetchAll(
            db,
            sql: """
                SELECT id FROM conversation
                WHERE certainty > 0 AND isMember AND epoch IS NOT NULL AND kind <> 'room' AND pendingReadSeq IS NULL
                    AND (kind = 'community' OR replayed >= head AND rev >= latestRev)
                """
        ).map { try ConversationID($0) }
    }

    /// Conversations with something to read, of one kind or all, whether or not they are in the list.
    package func unreadConversations(of kind: ConversationKind?) throws -> [ConversationID] {
        try String.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT id FROM conversation
                    WHERE (unread > 0 OR mentions > 0 OR isMarkedUnread OR certainty > 0) AND kind <> 'room'
                        AND (?1 IS NULL OR kind = ?1)
                    """), arguments: [kind?.rawValue]
        ).map { try ConversationID($0) }
    }

    /// Whether what the server says of the user's own state means that something was read, all or some of it, or a mark ended.
    package func isRead(by summary: ReadSummary, in id: ConversationID) throws -> Bool {
        guard let entry = try recent(id), let state = try readState(of: id) else { return false }
        let hasMore = entry.unread > 0 || entry.mentions > 0
        if hasMore, summary.readSeq > state.position { return true }
        // A mark that the server has yet to hear of it can't have ended.
        return try entry.isMarkedUnread && !summary.isMarkedUnread && !pendingSorts(in: id).contains(.mark)
    }

    func isMarkedUnread(_ number: Int64) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT isMarkedUnread FROM conversation WHERE number = ?"), arguments: [number])
            ?? false
    }
}

extension LocalWriter {
    /// Sets something here, and remembers to tell the server of it.
    ///
    /// - Returns: whether it changed anything.
    package func set(_ change: StateChange, in id: ConversationID) throws -> Bool {
        let number = try number(of: id)
        guard let sort = change.sort, try apply(change, number: number) else { return false }
        try refreshEntry(number)
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO pendingState VALUES (?, ?, ?)")
            .execute(arguments: [id.description, sort.rawValue, change.stored])
        return true
    }

    private func apply(_ change: StateChange, number: Int64) throws -> Bool {
        func update(_ column: String, _ value: some DatabaseValueConvertible) throws -> Bool {
            try db.cachedStatement(
                sql: "UPDATE conversation SET \(column) = ?1 WHERE number = ?2 AND \(column) IS NOT ?1"
            ).execute(arguments: [value, number])
            return db.changesCount > 0
        }
        switch change {
        case .settings(let isMuted?, _): return try update("isMuted", isMuted)
        case .settings(nil, let isPinned?): return try update("isPinned", isPinned)
        case .settings: return false
        case .notifications(let level): return try update("notifications", level?.rawValue)
        case .markUnread: return try update("isMarkedUnread", true)
        case .removeRecent(let place, _):
            try db.cachedStatement(
                sql: "UPDATE conversation SET removedSeq = max(removedSeq, ?), addedTime = NULL WHERE number = ?"
            ).execute(arguments: [place?.seq ?? 0, number])
            return true
        case .addRecent: return try update("removedSeq", Int64(0))
        case .stopRoaming: return true
        case .read: return false
        }
    }

    /// Notes which marks a read knew of, however much later it is told.
    ///
    /// Those of other devices that were heard of. A mark of this device's own may have reached the server without an answer:
    /// a read that ends one ends whatever is set.
    func noteKnownMarks(_ number: Int64) throws {
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

    /// A read ends a mark; one that the server does not know of yet is never told.
    ///
    /// An entry that stood in the list for its mark alone goes with it.
    func endMark(_ id: ConversationID, number: Int64) throws {
        try db.cachedStatement(
            sql: """
                UPDATE conversation SET isMarkedUnread = 0, isRecent = isRecent AND NOT isMarkedUnread WHERE number = ?
                """
        ).execute(arguments: [number])
        try db.cachedStatement(sql: "DELETE FROM pendingState WHERE conversation = ? AND sort = 'mark'")
            .execute(arguments: [id.description])
        try refreshEntry(number)
    }

    /// The server has taken a change, or never will: it is not told of it again, unless it was made anew meanwhile.
    package func settle(_ pending: PendingState) throws {
        // A read that is still to be told ended the mark that was taken: the one that is noted was made after it.
        try db.cachedStatement(
            sql: """
                DELETE FROM pendingState WHERE conversation = ?1 AND sort = ?2 AND body = ?3
                    AND NOT (sort = 'mark' AND EXISTS
                        (SELECT 1 FROM conversation WHERE id = ?1 AND pendingReadSeq IS NOT NULL))
                """
        ).execute(arguments: [
            pending.conversation.description, pending.sort.rawValue, pending.change.stored,
        ])
        if case .removeRecent(at: let place, stopsRoaming: true) = pending.change {
            try settle(
                PendingState(conversation: pending.conversation, sort: .roaming, change: .stopRoaming(at: place)))
        }
    }

    /// Puts a conversation into the list by hand.
    ///
    /// - Parameters:
    ///   - time: where it stands in the list; without it where its last message has it.
    ///   - showsLast: whether its last message is shown, or none until the next.
    /// - Returns: whether the server must hear that it is in the list again.
    package func addRecent(_ id: ConversationID, at time: Timetoken?, showsLast: Bool) throws -> Bool {
        let number = try number(of: id)
        if try reader.recent(id) != nil { return false }
        let wasRemoved = try apply(.addRecent, number: number)
        try db.cachedStatement(sql: "UPDATE conversation SET addedTime = ?, hidesLast = ? WHERE number = ?")
            .execute(arguments: [Int64(bitPattern: time?.rawValue ?? 0), !showsLast, number])
        try refreshEntry(number)
        guard wasRemoved else { return false }
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO pendingState VALUES (?, ?, ?)")
            .execute(arguments: [id.description, StateSort.list.rawValue, StateChange.addRecent.stored])
        return true
    }

    /// Takes a conversation out of the list.
    ///
    /// - Returns: whether it was in it.
    package func removeRecent(_ id: ConversationID, marksRead: Bool, stopsRoaming: Bool) throws -> Bool {
        guard try reader.recent(id) != nil else { return false }
        if marksRead { _ = try markRead(id, upTo: nil) }
        let place = try reader.newestPlace(of: id)
        let change = StateChange.removeRecent(at: place, stopsRoaming: stopsRoaming)
        if case .removeRecent(nil, _) = change {
            // Put in by hand, and nothing was said there that this device knows of. The server has nothing to take out, and would
            // take what was said meanwhile.
            let number = try number(of: id)
            _ = try apply(change, number: number)
            try refreshEntry(number)
            return true
        }
        // Should it be put back before the server hears of this, it does not roam all the same.
        if stopsRoaming { _ = try set(.stopRoaming(at: place), in: id) }
        return try set(change, in: id)
    }

    /// What the app keeps with the entry.
    package func setExtension(_ json: RawJSON?, of id: ConversationID) throws {
        let number = try number(of: id)
        let stored = try reader.stored(["extension": json?.text], of: .conversation(id), numbered: number)
        try db.cachedStatement(sql: "UPDATE conversation SET extension = ? WHERE number = ?")
            .execute(arguments: [stored[0], number])
    }
}
