import Foundation
import GRDB
import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

extension SQLiteStore {
    /// Creates the tables of blocks, mutes and webhook deliveries, and adds two conversation settings.
    static func createModerationTables(_ database: Database) throws {
        try database.execute(
            sql: """
                ALTER TABLE conversation ADD COLUMN isFrozen INTEGER NOT NULL DEFAULT 0 CHECK (isFrozen IN (0, 1));
                ALTER TABLE conversation ADD COLUMN capacity INTEGER;

                CREATE TABLE block (
                    user TEXT NOT NULL,
                    blocked TEXT NOT NULL,
                    PRIMARY KEY (user, blocked)
                ) WITHOUT ROWID, STRICT;
                CREATE INDEX block_blocked ON block (blocked, user);

                -- until: infinity for a permanent mute.
                CREATE TABLE mute (
                    conversation INTEGER NOT NULL,
                    user TEXT NOT NULL,
                    until REAL NOT NULL,
                    PRIMARY KEY (conversation, user)
                ) WITHOUT ROWID, STRICT;

                -- AUTOINCREMENT: numbers are never reused, because receivers identify deliveries by them.
                CREATE TABLE delivery (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    conversation INTEGER NOT NULL,
                    body TEXT NOT NULL
                ) STRICT;
                CREATE INDEX delivery_conversation ON delivery (conversation, number);
                """)
    }

    /// Adds flags for mutes and blocks to conversations, so that sending looks them up only where needed.
    static func addModerationFlags(_ database: Database) throws {
        try database.execute(
            sql: """
                ALTER TABLE conversation ADD COLUMN hasMutes INTEGER NOT NULL DEFAULT 0 CHECK (hasMutes IN (0, 1));
                -- 1: the first user of a direct conversation has blocked the second; 2: the reverse.
                ALTER TABLE conversation ADD COLUMN blocks INTEGER NOT NULL DEFAULT 0 CHECK (blocks BETWEEN 0 AND 3);

                UPDATE conversation SET hasMutes = 1 WHERE number IN (SELECT conversation FROM mute);
                UPDATE conversation SET blocks =
                    EXISTS (SELECT 1 FROM block WHERE user = target AND blocked = part)
                    + 2 * EXISTS (SELECT 1 FROM block WHERE user = part AND blocked = target)
                WHERE kind = 'direct';
                """)
    }
}

extension SQLiteReader {
    private static let block = Statement("SELECT 1 FROM block WHERE user = ? AND blocked = ?") { $0.flag() }

    func hasBlocked(_ user: UserID, _ other: UserID) throws -> Bool {
        try connection.first(Self.block) { $0.add(user, other) } != nil
    }

    private static let blocked = Statement(
        "SELECT blocked FROM block WHERE user = ? AND blocked > ? ORDER BY blocked"
    ) { $0.userID() }

    func blocked(by user: UserID, after: UserID?, limit: Int) throws -> [UserID] {
        try connection.all(Self.blocked, limit: limit) { $0.add(user, after?.text ?? "") }
    }

    private static let blockers = Statement("SELECT user FROM block WHERE blocked = ? ORDER BY user") { $0.userID() }

    func blockers(of user: UserID, limit: Int) throws -> [UserID] {
        try connection.all(Self.blockers, limit: limit) { $0.add(user) }
    }

    private static let mute = Statement("SELECT until FROM mute WHERE conversation = ? AND user = ?") {
        $0.optionalDate().map { $0.timeIntervalSinceReferenceDate.isInfinite ? Mute.forever : .until($0) }
    }

    func mute(of user: UserID, in conversation: Int64) throws -> Mute? {
        try connection.first(Self.mute) { $0.add(conversation, user) } ?? nil
    }

    private static let nextDeliveryConversation = Statement(
        "SELECT conversation FROM delivery WHERE conversation > ? ORDER BY conversation LIMIT 1"
    ) { $0.integer() }

    func conversationsWithDeliveries(after conversation: Int64, limit: Int) throws -> [Int64] {
        // Uses one seek per conversation; a scan would read all queued deliveries.
        try seek(Self.nextDeliveryConversation, after: conversation, limit: limit)
    }

    /// Returns up to `limit` numbers, each from a run of a statement that finds the next number above the last.
    func seek(_ next: Statement<Int64>, after number: Int64, limit: Int) throws -> [Int64] {
        var found: [Int64] = []
        while found.count < limit, let next = try connection.first(next, bind: { $0.add(found.last ?? number) }) {
            found.append(next)
        }
        return found
    }

    private static let deliveries = Statement(
        "SELECT number, conversation, body FROM delivery WHERE conversation = ? ORDER BY number"
    ) {
        let number = $0.integer()
        return DeliveryRow(
            number: number, conversation: $0.integer(),
            body: RawJSON(known: try $0.text("body", of: .delivery(number))))
    }

    func deliveries(of conversation: Int64, limit: Int) throws -> [DeliveryRow] {
        try connection.all(Self.deliveries, limit: limit) { $0.add(conversation) }
    }

    private static let deliveryCount = Statement("SELECT count(*) FROM delivery WHERE number > 0") { $0.integer() }

    func deliveryCount() throws -> Int64 {
        try connection.first(Self.deliveryCount) ?? 0
    }
}

extension SQLiteWriter {
    private static let insertBlock = Statement("INSERT INTO block (user, blocked) VALUES (?, ?) ON CONFLICT DO NOTHING")
    private static let dropBlock = Statement("DELETE FROM block WHERE user = ? AND blocked = ?")

    func putBlock(of other: UserID, by user: UserID, isOn: Bool) throws {
        try connection.run(isOn ? Self.insertBlock : Self.dropBlock) { $0.add(user, other) }
    }

    private static let putMute = Statement(
        """
        INSERT INTO mute (conversation, user, until) VALUES (?, ?, ?)
        ON CONFLICT (conversation, user) DO UPDATE SET until = excluded.until
        """)
    private static let dropMute = Statement("DELETE FROM mute WHERE conversation = ? AND user = ?")

    func put(_ mute: Mute?, of user: UserID, in conversation: Int64) throws {
        let until: Date
        switch mute {
        case nil: return try connection.run(Self.dropMute) { $0.add(conversation, user) }
        case .until(let date): until = date
        case .forever: until = Date(timeIntervalSinceReferenceDate: .infinity)
        }
        try connection.run(Self.putMute) { $0.add(conversation, user, until) }
    }

    // The number that AUTOINCREMENT would assign.
    private static let nextDelivery = Statement("SELECT seq + 1 FROM sqlite_sequence WHERE name = 'delivery'") {
        $0.integer()
    }
    private static let insertDelivery = Statement("INSERT INTO delivery (number, conversation, body) VALUES (?, ?, ?)")

    func insertDelivery(_ body: RawJSON, of conversation: Int64) throws {
        // Determine the number first, because encryption binds the text to it.
        let number = try connection.first(Self.nextDelivery) ?? 1
        try connection.run(Self.insertDelivery) {
            $0.add(number, conversation)
            $0.add(body.text, "body", of: .delivery(number))
        }
    }

    private static let dropDeliveriesThrough = Statement("DELETE FROM delivery WHERE conversation = ? AND number <= ?")

    func dropDeliveries(of conversation: Int64, through number: Int64) throws -> Int {
        try connection.run(Self.dropDeliveriesThrough) { $0.add(conversation, number) }
        return connection.changes
    }

    private static let dropDeliveries = Statement("DELETE FROM delivery")

    func dropDeliveries() throws -> Int {
        try connection.run(Self.dropDeliveries)
        return connection.changes
    }
}
