import Foundation
import GRDB
import ScrollbackEngine
import ScrollbackModel
import StoreFiles

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
    func hasBlocked(_ user: UserID, _ other: UserID) throws -> Bool {
        try connection.first(
            .block,
            bind: {
                $0.add(user.text)
                $0.add(other.text)
            }, row: { $0.integer() }) != nil
    }

    func blocked(by user: UserID, after: UserID?, limit: Int) throws -> [UserID] {
        try connection.all(
            .blocks, limit: limit,
            bind: {
                $0.add(user.text)
                $0.add(after?.text ?? "")
            }, row: { UserID(known: $0.text()) })
    }

    func blockers(of user: UserID, limit: Int) throws -> [UserID] {
        try connection.all(
            .blockers, limit: limit, bind: { $0.add(user.text) }, row: { UserID(known: $0.text()) })
    }

    func mute(of user: UserID, in conversation: Int64) throws -> Mute? {
        try connection.first(
            .mute,
            bind: {
                $0.add(conversation)
                $0.add(user.text)
            }, row: { $0.optionalDate() }
        )?.map { $0.timeIntervalSinceReferenceDate.isInfinite ? .forever : .until($0) }
    }

    func conversationsWithDeliveries(after conversation: Int64, limit: Int) throws -> [Int64] {
        var found: [Int64] = []
        // Uses one seek per conversation; a scan would read all queued deliveries.
        while found.count < limit,
            let next = try connection.first(
                .deliveryConversation, bind: { $0.add(found.last ?? conversation) }, row: { $0.integer() })
        {
            found.append(next)
        }
        return found
    }

    func deliveries(of conversation: Int64, limit: Int) throws -> [DeliveryRow] {
        try connection.all(
            .deliveries, limit: limit, bind: { $0.add(conversation) },
            row: {
                let number = $0.integer()
                return DeliveryRow(
                    number: number, conversation: $0.integer(),
                    body: RawJSON(known: try $0.text("body", of: .delivery(number))))
            })
    }

    func deliveryCount() throws -> Int64 {
        try connection.first(.deliveryCount, bind: { _ in }, row: { $0.integer() }) ?? 0
    }
}

extension SQLiteWriter {
    func putBlock(of other: UserID, by user: UserID, isOn: Bool) throws {
        try connection.run(
            isOn ? .insertBlock : .dropBlock,
            bind: {
                $0.add(user.text)
                $0.add(other.text)
            })
    }

    func put(_ mute: Mute?, of user: UserID, in conversation: Int64) throws {
        guard let mute else {
            return try connection.run(
                .dropMute,
                bind: {
                    $0.add(conversation)
                    $0.add(user.text)
                })
        }
        let until: Date =
            switch mute {
            case .until(let date): date
            case .forever: Date(timeIntervalSinceReferenceDate: .infinity)
            }
        try connection.run(
            .putMute,
            bind: {
                $0.add(conversation)
                $0.add(user.text)
                $0.add(until)
            })
    }

    func insertDelivery(_ body: RawJSON, of conversation: Int64) throws {
        // Determine the number first, because encryption binds the text to it.
        let number = try connection.first(.nextDelivery, bind: { _ in }, row: { $0.integer() }) ?? 1
        try connection.run(
            .insertDelivery,
            bind: {
                $0.add(number)
                $0.add(conversation)
                $0.add(body.text, "body", of: .delivery(number))
            })
    }

    func dropDeliveries(of conversation: Int64, through number: Int64) throws -> Int {
        try connection.run(
            .dropDeliveriesOf,
            bind: {
                $0.add(conversation)
                $0.add(number)
            })
        return connection.changes
    }

    func dropDeliveries() throws -> Int {
        try connection.run(.dropDeliveries, bind: { _ in })
        return connection.changes
    }
}
