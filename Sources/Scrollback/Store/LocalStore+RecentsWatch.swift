import GRDB
import ScrollbackModel

// What a transaction did to the list of recents, whichever way it did it: SQLite writes down each entry as it was before.

extension LocalStore {
    /// Has entries written down as they were before a transaction changes them, on the connection that writes.
    static func watchRecents(_ db: Database) throws {
        let columns = watchedColumns.map { "old.\($0)" }.joined(separator: ", ")
        try db.execute(
            sql: """
                CREATE TEMP TABLE recentBefore (number INTEGER PRIMARY KEY, id, kind, \(watched));
                CREATE TEMP TRIGGER recentUpdated AFTER UPDATE ON main.conversation
                WHEN (old.isRecent OR new.isRecent)
                    AND (\(columns)) IS NOT (\(watchedColumns.map { "new.\($0)" }.joined(separator: ", ")))
                BEGIN
                    INSERT OR IGNORE INTO recentBefore VALUES (old.number, old.id, old.kind, \(columns));
                END;
                CREATE TEMP TRIGGER recentDeleted AFTER DELETE ON main.conversation WHEN old.isRecent
                BEGIN
                    INSERT OR IGNORE INTO recentBefore VALUES (old.number, old.id, old.kind, \(columns));
                END;
                """)
    }

    private static let watchedColumns = [
        "isRecent", "isMember", "unread", "mentions", "isMarkedUnread", "isMuted", "isPinned", "lastSeq", "lastRev",
        "hidesLast", "sortTime", "name", "avatar", "extension",
    ]
    /// What an event is about: that one is a member no more is seen by nothing but what is unread there.
    private static func toldColumns(of row: String) -> String {
        let shown = watchedColumns.filter { $0 != "isMember" }.map { "\(row).\($0)" }
        return (shown + ["iif(\(row).isMember, \(row).unread, 0)"]).joined(separator: ", ")
    }
    private static let watched = watchedColumns.joined(separator: ", ")

    /// What the transaction under way did to the list, in the order of the conversations' making.
    ///
    /// - Parameter scope: what was read by it, if anything was.
    static func recentsEvents(_ reader: LocalReader, scope: RecentsEvent.ReadScope?) throws -> [RecentsEvent] {
        let db = reader.db
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT b.number, b.id, b.kind, b.isRecent, c.isRecent, iif(b.isRecent AND b.isMember, b.unread, 0),
                        iif(c.isRecent AND c.isMember, c.unread, 0)
                    FROM temp.recentBefore b LEFT JOIN conversation c ON c.number = b.number
                    WHERE (\(toldColumns(of: "b"))) IS NOT (\(toldColumns(of: "c")))
                    ORDER BY b.number
                    """))
        guard !rows.isEmpty else {
            try db.cachedStatement(sql: "DELETE FROM temp.recentBefore").execute()
            return []
        }
        try db.cachedStatement(sql: "DELETE FROM temp.recentBefore").execute()
        let totals = try reader.totals()
        var events: [RecentsEvent] = []
        if let scope { events.append(.read(scope, totalUnread: totals.unread)) }
        let isRead = scope != nil
        var tellsUpdates = true
        if case .one? = scope {} else if isRead { tellsUpdates = false }
        var changes: [String: Int64] = [:]
        for row in rows {
            let (wasListed, isListed): (Bool, Bool) = (row[3], row[4] ?? false)
            changes[row[2], default: 0] += (row[6] ?? 0) - (row[5] ?? 0)
            if let entry = isListed ? try reader.recent(numbered: row[0]) : nil {
                if !wasListed {
                    events.append(.added(entry, totalUnread: totals.unread))
                } else if tellsUpdates {
                    events.append(.updated(entry, totalUnread: totals.unread))
                }
            } else if wasListed {
                events.append(.removed(try ConversationID(row[1] as String), totalUnread: totals.unread))
            }
        }
        if !isRead, changes.values.contains(where: { $0 != 0 }) {
            let counts = ConversationKind.allCases.filter(\.traits.hasRecents).map { ($0, totals.unread(of: $0)) }
            events.append(.unreadByKind(Dictionary(uniqueKeysWithValues: counts)))
        }
        return events
    }
}
