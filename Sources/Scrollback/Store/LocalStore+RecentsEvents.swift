import GRDB
import ScrollbackModel

// Detects what a transaction changed in the list of recent conversations. SQLite triggers record each entry as it was
// before the change.

extension LocalStore {
    /// Installs the triggers on the writer connection.
    ///
    /// The key includes the ID, because a deleted conversation's number can be reused within the same transaction.
    static func installRecentsTriggers(_ db: Database) throws {
        let old = watchedColumns.map { "old.\($0)" }.joined(separator: ", ")
        let new = watchedColumns.map { "new.\($0)" }.joined(separator: ", ")
        let statements = """
            CREATE TEMP TABLE recentBefore (number INTEGER, id, kind, \(watched), PRIMARY KEY (number, id));
            CREATE TEMP TRIGGER recentUpdated AFTER UPDATE ON main.conversation
            WHEN (old.isRecent OR new.isRecent) AND (\(old)) IS NOT (\(new))
            BEGIN
                INSERT OR IGNORE INTO recentBefore VALUES (old.number, old.id, old.kind, \(old));
            END;
            CREATE TEMP TRIGGER recentDeleted AFTER DELETE ON main.conversation WHEN old.isRecent
            BEGIN
                INSERT OR IGNORE INTO recentBefore VALUES (old.number, old.id, old.kind, \(old));
            END;
            """
        try db.inTransaction {
            try db.execute(sql: statements)
            return .commit
        }
    }

    /// Removes the triggers, once there are no consumers.
    static func removeRecentsTriggers(_ db: Database) throws {
        try db.inTransaction {
            try db.execute(sql: "DROP TRIGGER recentUpdated; DROP TRIGGER recentDeleted; DROP TABLE temp.recentBefore")
            return .commit
        }
    }

    private static let watchedColumns = [
        "isRecent", "isMember", "unread", "mentions", "isMarkedUnread", "isMuted", "notifications", "isPinned",
        "lastSeq", "lastRev",
        "hidesLast", "sortTime", "name", "avatar", "extension",
    ]
    /// The columns whose change causes an event.
    ///
    /// Membership itself is not shown: it only affects the unread counts.
    private static func eventColumns(of row: String) -> String {
        let counts = ["unread", "mentions"]
        let others = watchedColumns.filter { $0 != "isMember" && !counts.contains($0) }
        let shown = others.map { "\(row).\($0)" } + counts.map { "iif(\(row).isMember, \(row).\($0), 0)" }
        return shown.joined(separator: ", ")
    }
    private static let watched = watchedColumns.joined(separator: ", ")

    /// Returns the changes that the current transaction made to the list, in the order in which the conversations were
    /// created.
    ///
    /// - Parameters:
    ///   - scope: The conversations that the transaction marked as read, if any.
    ///   - lastTotals: The unread totals for which events were last sent.
    static func recentsEvents(
        _ reader: LocalReader, scope: RecentsEvent.ReadScope?, lastTotals: inout UnreadTotals?
    ) throws -> [RecentsEvent] {
        let db = reader.db
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT b.number, b.id, b.isRecent, c.isRecent
                    FROM temp.recentBefore b LEFT JOIN conversation c ON c.number = b.number AND c.id = b.id
                    WHERE (\(eventColumns(of: "b"))) IS NOT (\(eventColumns(of: "c")))
                    ORDER BY b.number, b.rowid
                    """))
        try db.cachedStatement(sql: "DELETE FROM temp.recentBefore").execute()
        guard !rows.isEmpty || scope != nil else { return [] }
        let totals = try reader.totals()
        let before = lastTotals
        lastTotals = totals
        var events: [RecentsEvent] = []
        // Marking unfetched conversations of a new device as read changes the totals but no row.
        if let scope, !rows.isEmpty || totals != before { events.append(.read(scope, totalUnread: totals.unread)) }
        let isRead = scope != nil
        var sendsUpdates = true
        if case .one? = scope {} else if isRead { sendsUpdates = false }
        for row in rows {
            let (wasListed, isListed): (Bool, Bool) = (row[2], row[3] ?? false)
            if wasListed, isListed, !sendsUpdates { continue }
            if let entry = isListed ? try reader.recent(numbered: row[0]) : nil {
                let total = totals.unread
                events.append(
                    wasListed ? .updated(entry, totalUnread: total) : .added(entry, totalUnread: total))
            } else if wasListed {
                events.append(.removed(try ConversationID(row[1] as String), totalUnread: totals.unread))
            }
        }
        let kinds = ConversationKind.allCases.filter(\.traits.hasRecents)
        if !isRead, kinds.contains(where: { totals.unread(of: $0) != before?.unread(of: $0) ?? 0 }) {
            let counts = kinds.map { ($0, totals.unread(of: $0)) }
            events.append(.unreadByKind(Dictionary(uniqueKeysWithValues: counts)))
        }
        return events
    }
}
