import GRDB
package import ScrollbackModel
import ScrollbackSearch
import ScrollbackWire
import TextAnalysis
import SQLiteSupport

/// The device's position in the server's sequence of changed conversations.
package struct SyncPoint: Sendable {
    package var cursor: String?
    /// Whether the cursor's sync pass is unfinished.
    ///
    /// Changes made since that pass began may be missing from it, so another pass must follow.
    package var isInterrupted: Bool
    package var hasCompletedSync: Bool
}

extension LocalReader {
    /// Returns the position at which the next sync pass begins or an interrupted one continues.
    package func syncPoint() throws -> SyncPoint {
        SyncPoint(
            cursor: try String.fetchOne(db, sql: "SELECT value FROM meta WHERE key = 'cursor'"),
            isInterrupted: try Bool.fetchOne(db, sql: "SELECT value = 'interrupted' FROM meta WHERE key = 'pass'")
                ?? false,
            hasCompletedSync: try hasCompletedSync())
    }

    /// Returns whether a sync pass was ever completed.
    ///
    /// Until then the device is new, and messages before its first connection do not count as missed.
    func hasCompletedSync() throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM meta WHERE key = 'settled')") ?? false
    }

    private static let recentColumns = """
        number, id, name, avatar, \(shownCounts()), isMuted, isPinned, isMarkedUnread, epoch, lastSeq, hidesLast, \
        sortTime, extension, (SELECT body FROM draft WHERE draft.conversation = id), peerReadSeq, isFrozen, \
        mutedUntil, notifications, peerDeliveredSeq
        """

    /// Returns a page of the list: pinned conversations first, then by the time of the last message.
    package func recents(
        limit: Int, after place: RecentConversation.Place? = nil, matching filter: RecentsFilter = .all
    ) throws -> [RecentConversation] {
        var sql = "SELECT \(Self.recentColumns) FROM conversation WHERE isRecent AND \(Self.isKept)"
        var arguments: StatementArguments = []
        if let kinds = filter.kinds {
            sql += " AND kind IN (\(kinds.map { "'\($0.rawValue)'" }.sorted().joined(separator: ", ")))"
        }
        if let isMuted = filter.isMuted { sql += isMuted ? " AND isMuted" : " AND NOT isMuted" }
        if filter.isUnread { sql += " AND (\(Self.isStaying()) AND (unread > 0 OR mentions > 0) OR isMarkedUnread)" }
        if let place {
            sql += " AND (isPinned, sortTime, number) < (?, ?, ?)"
            arguments += [place.isPinned, place.sortTime, place.number]
        }
        sql += " ORDER BY isPinned DESC, sortTime DESC, number DESC LIMIT ?"
        arguments += [limit]
        let queued = try queuedSettings()
        return try Row.fetchAll(db.cachedStatement(sql: sql), arguments: arguments)
            .map { try recent($0, excluding: filter.excludedLastTypes, applying: queued) }
    }

    package func recent(_ id: ConversationID) throws -> RecentConversation? {
        try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT \(Self.recentColumns) FROM conversation WHERE id = ? AND isRecent AND \(Self.isKept)
                    """),
            arguments: [id.description]
        ).map { try recent($0, applying: queuedSettings()) }
    }

    func recent(numbered number: Int64) throws -> RecentConversation? {
        try Row.fetchOne(
            db.cachedStatement(sql: "SELECT \(Self.recentColumns) FROM conversation WHERE number = ? AND isRecent"),
            arguments: [number]
        ).map { try recent($0, applying: queuedSettings()) }
    }

    private func recent(
        _ row: Row, excluding types: Set<MessageType> = [],
        applying queued: [ConversationID: [ConversationSettings]]
    ) throws -> RecentConversation {
        let id = try ConversationID(row[1] as String)
        let epoch = (row[9] as Int64?).map { Epoch(rawValue: UInt64(bitPattern: $0)) }
        let hidesLast: Bool = row[11]
        let rowID = EncryptedRow.conversation(id)
        var recent = RecentConversation(
            id: id, name: try text(row[2], "name", of: rowID), avatar: try text(row[3], "avatar", of: rowID),
            lastMessage: try hidesLast
                ? nil : epoch.flatMap { try lastMessage(row[0], row[10], in: id, epoch: $0, excluding: types) },
            unread: row[4], mentions: row[5], isMuted: row[6],
            notifications: (row[18] as String?).flatMap { NotificationLevel(rawValue: $0) }, isPinned: row[7],
            isMarkedUnread: row[8],
            peerReadSeq: row[15], peerDeliveredSeq: row[19], isFrozen: row[16], mute: Mute(stored: row[17]),
            draft: try text(row[14], "body", of: .draft(id)).flatMap { try? Draft(stored: $0) },
            localExtension: try text(row[13], "extension", of: rowID).map { RawJSON(known: $0) },
            place: .init(isPinned: row[7], sortTime: row[12], number: row[0]))
        if let settings = queued[id] { recent.apply(settings) }
        return recent
    }

    private func lastMessage(
        _ number: Int64, _ seq: Seq, in id: ConversationID, epoch: Epoch, excluding types: Set<MessageType>
    ) throws -> Message? {
        guard !types.isEmpty else { return try message(at: seq, number: number, in: id, epoch: epoch) }
        var list = JSONWriter()
        list.array(types) { $0.value($1.rawValue) }
        let last = try Seq.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT seq FROM message
                    WHERE conversation = ? AND seq <= ? AND type NOT IN (SELECT value FROM json_each(?))
                    ORDER BY seq DESC LIMIT 1
                    """), arguments: [number, seq, list.text])
        return try last.flatMap { try message(at: $0, number: number, in: id, epoch: epoch) }
    }

    /// Returns the unread totals of all listed conversations, including those that were not fetched yet.
    package func totals() throws -> UnreadTotals {
        try knownTotals().adding(try remainingTotals() ?? UnreadTotals())
    }

    /// Returns the unread totals of the listed conversations that are stored on this device.
    func knownTotals() throws -> UnreadTotals {
        var totals = UnreadTotals()
        let rows = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT kind, isMuted, sum(unread), sum(mentions) FROM conversation
                    WHERE isRecent AND isMember AND (unread > 0 OR mentions > 0) AND \(Self.isKept)
                        AND \(Self.isStaying())
                    GROUP BY kind, isMuted
                    """))
        while let row = try rows.next() {
            guard let kind = ConversationKind(rawValue: row[0]) else { continue }
            totals.add(row[2], mentions: row[3], kind: kind, isMuted: row[1])
        }
        return totals
    }
}

extension LocalWriter {
    /// Stores the cursor of a sync window, and whether the window completes its sync pass.
    package func saveCursor(_ cursor: String, isLastWindow: Bool) throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO meta VALUES ('cursor', ?), ('pass', ?)",
            arguments: [cursor, isLastWindow ? "done" : "interrupted"])
        if isLastWindow { try db.execute(sql: "INSERT OR IGNORE INTO meta VALUES ('settled', 'yes')") }
    }

    /// Deletes a conversation from the store.
    ///
    /// Queued messages stay, and the server will reject them.
    package func deleteConversation(_ id: ConversationID) throws {
        try removeLocalExtensions(in: id)
        try db.execute(sql: "DELETE FROM member WHERE conversation = ?", arguments: [id.administered.description])
        guard let number = try reader.number(of: id) else { return }
        for table in ["message", "gap", "deletedRange", "thread", "keptMessage"] {
            try db.execute(sql: "DELETE FROM \(table) WHERE conversation = ?", arguments: [number])
        }
        try db.execute(sql: "DELETE FROM conversation WHERE number = ?", arguments: [number])
        try markUnindexed(SeqRangeSet(CollectionOfOne(1...SearchKey.lastSeq)), in: number)
    }

    /// Deletes a conversation that the server does not know, which an answer from before its deletion restored.
    ///
    /// Conversations without a known log and conversations with queued messages stay.
    package func deleteIfGone(_ id: ConversationID) throws {
        guard id.kind.traits.hasRecents, try reader.log(of: id) != nil else { return }
        let isAwaited = try Bool.fetchOne(
            db.cachedStatement(
                sql: "SELECT EXISTS (SELECT 1 FROM outbox WHERE conversation = ? AND state <> 'failed')"),
            arguments: [id.description])
        if isAwaited != true { try deleteConversation(id) }
    }
}

extension LocalWriter {
    /// Returns the device ID, which is generated when the store is created.
    package func deviceID() throws -> String {
        if let name = try String.fetchOne(db, sql: "SELECT value FROM meta WHERE key = 'device'") { return name }
        var generator = SystemRandomNumberGenerator()
        let name = String(UInt64.random(in: .min ... .max, using: &generator), radix: 36)
        try db.execute(sql: "INSERT INTO meta VALUES ('device', ?)", arguments: [name])
        return name
    }
}
