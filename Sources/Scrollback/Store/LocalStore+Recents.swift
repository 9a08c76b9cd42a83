import GRDB
public import ScrollbackModel
import ScrollbackSearch
import ScrollbackWords
import StoreFiles

/// A conversation in the list of recents.
public struct RecentConversation: Hashable, Identifiable, Sendable {
    /// The name the user knows it by: a direct conversation is named by the peer.
    public let id: ConversationID
    /// At most 128 bytes of UTF-8; absent where nobody gave it one, as in most direct conversations.
    public var name: String?
    /// Where a picture of it is, as it was given to the server: at most 2,048 bytes of UTF-8.
    public var avatar: String?
    /// The newest message this device has of it; absent where it has none yet.
    public var lastMessage: Message?
    /// Messages of others that count and were not read, on any of the user's devices.
    public var unread: Int64
    /// Messages of others that were not read and mention the user, by name or because everyone is meant.
    public var mentions: Int64
    /// Whether the user wants no push of it; what is unread is counted all the same.
    public var isMuted: Bool
    /// Whether it stands before those that are not pinned.
    public var isPinned: Bool
    /// Whether the user marked it as unread by hand, whatever the counts say; the next read ends that.
    public var isMarkedUnread: Bool
}

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

    private static let recentColumns =
        "number, id, name, avatar, unread, mentions, isMuted, isPinned, isMarkedUnread, epoch"

    /// The newest conversations, pinned ones first.
    package func recents(limit: Int) throws -> [RecentConversation] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT \(Self.recentColumns) FROM conversation
                    WHERE isRecent ORDER BY isPinned DESC, sortTime DESC, number DESC LIMIT ?
                    """), arguments: [limit]
        ).map { try recent($0) }
    }

    package func recent(_ id: ConversationID) throws -> RecentConversation? {
        try Row.fetchOne(
            db.cachedStatement(sql: "SELECT \(Self.recentColumns) FROM conversation WHERE id = ? AND isRecent"),
            arguments: [id.description]
        ).map { try recent($0) }
    }

    private func recent(_ row: Row) throws -> RecentConversation {
        let id = try ConversationID(row[1] as String)
        let epoch = (row[9] as Int64?).map { Epoch(rawValue: UInt64(bitPattern: $0)) }
        return RecentConversation(
            id: id, name: row[2], avatar: row[3],
            lastMessage: try epoch.flatMap { try lastMessage(row[0], in: id, epoch: $0) }, unread: row[4],
            mentions: row[5], isMuted: row[6], isPinned: row[7], isMarkedUnread: row[8])
    }

    private func lastMessage(_ number: Int64, in id: ConversationID, epoch: Epoch) throws -> Message? {
        var newest: Message?
        let sql =
            "SELECT \(MessageColumns.list) FROM message WHERE conversation = ?1 AND seq = "
            + "(SELECT lastSeq FROM conversation WHERE number = ?1)"
        try db.cachedStatement(sql: sql).messages(in: id, epoch: epoch) {
            $0.add(number)
        } take: {
            newest = $0
            return false
        }
        return newest
    }

    /// Unread messages of all conversations in the list.
    package func totalUnread() throws -> Int64 {
        try Int64.fetchOne(db, sql: "SELECT coalesce(sum(unread), 0) FROM conversation WHERE isRecent AND isMember")
            ?? 0
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
