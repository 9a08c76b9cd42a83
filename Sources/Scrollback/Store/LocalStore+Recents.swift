import GRDB
package import ScrollbackModel
import ScrollbackSearch
import ScrollbackWire
import ScrollbackWords
import StoreFiles

/// How far a device has come with what moved on the server.
package struct SyncPoint: Sendable {
    package var cursor: String?
    /// Whether the pass the cursor belongs to was not finished: what moved since it began may have been left out of it, so
    /// another pass follows.
    package var isInterrupted: Bool
    package var isSettled: Bool
}

extension LocalReader {
    /// Where the next pass of `sync` begins, or the last one was interrupted.
    package func syncPoint() throws -> SyncPoint {
        SyncPoint(
            cursor: try String.fetchOne(db, sql: "SELECT value FROM meta WHERE key = 'cursor'"),
            isInterrupted: try Bool.fetchOne(db, sql: "SELECT value = 'interrupted' FROM meta WHERE key = 'pass'")
                ?? false,
            isSettled: try isSettled())
    }

    /// Whether a pass was ever finished.
    ///
    /// Until then the device is new: it has missed nothing.
    func isSettled() throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM meta WHERE key = 'settled')") ?? false
    }

    /// Who is no member counts nothing, whatever is here to be counted.
    private static let recentColumns = """
        number, id, name, avatar, iif(isMember, unread, 0), iif(isMember, mentions, 0), isMuted, isPinned, \
        isMarkedUnread, epoch, lastSeq, hidesLast, \
        sortTime, extension, (SELECT body FROM draft WHERE draft.conversation = id), peerReadSeq, isFrozen, mutedUntil, \
        notifications
        """

    /// The list, pinned conversations first, then by the time of the last message.
    package func recents(
        limit: Int, after place: RecentConversation.Place? = nil, matching filter: RecentsFilter = .all
    ) throws -> [RecentConversation] {
        var sql = "SELECT \(Self.recentColumns) FROM conversation WHERE isRecent"
        var arguments: StatementArguments = []
        if let kinds = filter.kinds {
            sql += " AND kind IN (\(kinds.map { "'\($0.rawValue)'" }.sorted().joined(separator: ", ")))"
        }
        if let isMuted = filter.isMuted { sql += isMuted ? " AND isMuted" : " AND NOT isMuted" }
        if filter.isUnread { sql += " AND (isMember AND (unread > 0 OR mentions > 0) OR isMarkedUnread)" }
        if let place {
            sql += " AND (isPinned, sortTime, number) < (?, ?, ?)"
            arguments += [place.isPinned, place.sortTime, place.number]
        }
        sql += " ORDER BY isPinned DESC, sortTime DESC, number DESC LIMIT ?"
        arguments += [limit]
        return try Row.fetchAll(db.cachedStatement(sql: sql), arguments: arguments)
            .map { try recent($0, excluding: filter.excludedLastTypes) }
    }

    package func recent(_ id: ConversationID) throws -> RecentConversation? {
        try Row.fetchOne(
            db.cachedStatement(sql: "SELECT \(Self.recentColumns) FROM conversation WHERE id = ? AND isRecent"),
            arguments: [id.description]
        ).map { try recent($0) }
    }

    func recent(numbered number: Int64) throws -> RecentConversation? {
        try Row.fetchOne(
            db.cachedStatement(sql: "SELECT \(Self.recentColumns) FROM conversation WHERE number = ? AND isRecent"),
            arguments: [number]
        ).map { try recent($0) }
    }

    private func recent(_ row: Row, excluding types: Set<MessageType> = []) throws -> RecentConversation {
        let id = try ConversationID(row[1] as String)
        let epoch = (row[9] as Int64?).map { Epoch(rawValue: UInt64(bitPattern: $0)) }
        let hidesLast: Bool = row[11]
        let sealed = SealedRow.conversation(id)
        return RecentConversation(
            id: id, name: try text(row[2], "name", of: sealed), avatar: try text(row[3], "avatar", of: sealed),
            lastMessage: try hidesLast
                ? nil : epoch.flatMap { try lastMessage(row[0], row[10], in: id, epoch: $0, excluding: types) },
            unread: row[4], mentions: row[5], isMuted: row[6],
            notifications: (row[18] as String?).flatMap { NotificationLevel(rawValue: $0) }, isPinned: row[7],
            isMarkedUnread: row[8],
            peerReadSeq: row[15], isFrozen: row[16], mute: Mute(stored: row[17]),
            draft: try text(row[14], "body", of: .draft(id)).flatMap { try? Draft(stored: $0) },
            localExtension: try text(row[13], "extension", of: sealed).map { RawJSON(known: $0) },
            place: .init(isPinned: row[7], sortTime: row[12], number: row[0]))
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

    /// What is unread in all conversations of the list, those that are still to come from the server too.
    package func totals() throws -> UnreadTotals {
        try knownTotals().adding(try remainingTotals() ?? UnreadTotals())
    }

    /// What is unread in the conversations of the list that this device knows.
    func knownTotals() throws -> UnreadTotals {
        var totals = UnreadTotals()
        let rows = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT kind, isMuted, sum(unread), sum(mentions) FROM conversation
                    WHERE isRecent AND isMember AND (unread > 0 OR mentions > 0) GROUP BY kind, isMuted
                    """))
        while let row = try rows.next() {
            guard let kind = ConversationKind(rawValue: row[0]) else { continue }
            totals.add(row[2], mentions: row[3], kind: kind, isMuted: row[1])
        }
        return totals
    }
}

extension LocalWriter {
    /// Keeps where the last window of `sync` ended, and whether the pass it belongs to did.
    package func saveCursor(_ cursor: String, endsPass: Bool) throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO meta VALUES ('cursor', ?), ('pass', ?)",
            arguments: [cursor, endsPass ? "done" : "interrupted"])
        if endsPass { try db.execute(sql: "INSERT OR IGNORE INTO meta VALUES ('settled', 'yes')") }
    }

    /// Forgets a conversation that is not there any more; what is to be sent stays and will be refused by name.
    package func forget(_ id: ConversationID) throws {
        try removeLocalExtensions(in: id)
        guard let number = try reader.number(of: id) else { return }
        for table in ["message", "gap", "void"] {
            try db.execute(sql: "DELETE FROM \(table) WHERE conversation = ?", arguments: [number])
        }
        try db.execute(sql: "DELETE FROM conversation WHERE number = ?", arguments: [number])
        try markUnindexed(SeqRangeSet(CollectionOfOne(1...SearchKey.lastSeq)), in: number)
    }

    /// Forgets a conversation that the server knows nothing of: an answer from before it was deleted brought it back.
    ///
    /// One that was put in by hand, or that what is to be sent may make, stays.
    package func forgetGone(_ id: ConversationID) throws {
        guard id.kind.traits.hasRecents, try reader.log(of: id) != nil else { return }
        let isAwaited = try Bool.fetchOne(
            db.cachedStatement(
                sql: "SELECT EXISTS (SELECT 1 FROM outbox WHERE conversation = ? AND state <> 'failed')"),
            arguments: [id.description])
        if isAwaited != true { try forget(id) }
    }
}

extension LocalWriter {
    /// The name of this device among the user's, made with the store.
    package func deviceName() throws -> String {
        if let name = try String.fetchOne(db, sql: "SELECT value FROM meta WHERE key = 'device'") { return name }
        var generator = SystemRandomNumberGenerator()
        let name = String(UInt64.random(in: .min ... .max, using: &generator), radix: 36)
        try db.execute(sql: "INSERT INTO meta VALUES ('device', ?)", arguments: [name])
        return name
    }
}
