import Foundation
import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

extension SQLiteReader {
    private static let block = Statement("SELECT 1 FROM block WHERE userID = ? AND blocked = ?") { $0.flag() }

    func hasBlocked(_ user: UserID, _ other: UserID) throws -> Bool {
        try connection.first(Self.block) { $0.add(user, other) } != nil
    }

    private static let blocked = Statement(
        "SELECT blocked FROM block WHERE userID = ? AND blocked > ? ORDER BY blocked"
    ) { $0.userID() }

    func blocked(by user: UserID, after: UserID?, limit: Int) throws -> [UserID] {
        try connection.all(Self.blocked, limit: limit) { $0.add(user, after?.text ?? "") }
    }

    private static let blockers = Statement("SELECT userID FROM block WHERE blocked = ? ORDER BY userID") {
        $0.userID()
    }

    func blockers(of user: UserID, limit: Int) throws -> [UserID] {
        try connection.all(Self.blockers, limit: limit) { $0.add(user) }
    }

    private static let mute = Statement("SELECT until FROM mute WHERE conversation = ? AND userID = ?") {
        $0.optionalDate().map { $0.timeIntervalSinceReferenceDate.isInfinite ? Mute.forever : .until($0) }
    }

    func mute(of user: UserID, in conversation: Int64) throws -> Mute? {
        try connection.first(Self.mute) { $0.add(conversation, user) } ?? nil
    }

    private static let nextDeliveryConversation = Statement(
        """
        SELECT conversation FROM delivery WHERE webhook = ? AND isDelivered = 0 AND conversation > ?
        ORDER BY conversation LIMIT 1
        """
    ) { $0.integer() }

    func conversationsWithDeliveries(to webhook: String, after conversation: Int64, limit: Int) throws -> [Int64] {
        // Uses one seek per conversation; a scan would read all queued deliveries.
        try seek(Self.nextDeliveryConversation, after: conversation, limit: limit) { $0.add(webhook) }
    }

    /// Returns up to `limit` numbers, each from a run of a statement that finds the next number above the last.
    ///
    /// - Parameter bind: Binds the parameters before the number.
    func seek(
        _ next: Statement<Int64>, after number: Int64, limit: Int, bind: (inout Parameters) -> Void = { _ in }
    ) throws -> [Int64] {
        var found: [Int64] = []
        while found.count < limit {
            let next = try connection.first(next) { parameters in
                bind(&parameters)
                parameters.add(found.last ?? number)
            }
            guard let next else { break }
            found.append(next)
        }
        return found
    }

    private static let deliveries = Statement<DeliveryRow>(
        """
        SELECT \(DeliveryRow.columns) FROM delivery WHERE webhook = ? AND isDelivered = 0 AND conversation = ?
        ORDER BY number
        """)

    func deliveries(to webhook: String, of conversation: Int64, limit: Int) throws -> [DeliveryRow] {
        try connection.all(Self.deliveries, limit: limit) { $0.add(webhook, conversation) }
    }

    private static let deliveryCount = Statement(
        "SELECT count(*) FROM delivery WHERE isDelivered = 0 AND webhook > ''"
    ) { $0.integer() }

    func deliveryCount() throws -> Int64 {
        try connection.first(Self.deliveryCount) ?? 0
    }

    private static let deliveryLog = Statement<DeliveryRow>(
        """
        SELECT \(DeliveryRow.columns) FROM delivery WHERE webhook = ? AND number < ? AND isDelivered <= ?
        ORDER BY number DESC
        """)
    // Without the index, these two statements would read all pending events.
    private static let loggedDeliveries = Statement<DeliveryRow>(
        """
        SELECT \(DeliveryRow.columns) FROM delivery INDEXED BY delivery_logged
        WHERE webhook = ? AND isDelivered = 1 AND number < ? ORDER BY number DESC
        """)
    private static let delivered = Statement<DeliveryRow>(
        """
        SELECT \(DeliveryRow.columns) FROM delivery INDEXED BY delivery_logged
        WHERE webhook = ? AND isDelivered = 1 AND number BETWEEN ? AND ? AND original IS NULL ORDER BY number
        """)

    func deliveryLog(
        to webhook: String, below number: Int64, isPending: Bool?, limit: Int
    ) throws -> [DeliveryRow] {
        guard isPending != false else {
            return try connection.all(Self.loggedDeliveries, limit: limit) { $0.add(webhook, number) }
        }
        return try connection.all(Self.deliveryLog, limit: limit) { $0.add(webhook, number, isPending == nil) }
    }

    func delivered(to webhook: String, _ numbers: ClosedRange<Int64>, limit: Int) throws -> [DeliveryRow] {
        try connection.all(Self.delivered, limit: limit) { $0.add(webhook, numbers.lowerBound, numbers.upperBound) }
    }
}

extension SQLiteWriter {
    private static let insertBlock = Statement(
        "INSERT INTO block (userID, blocked) VALUES (?, ?) ON CONFLICT DO NOTHING")
    private static let dropBlock = Statement("DELETE FROM block WHERE userID = ? AND blocked = ?")

    func putBlock(of other: UserID, by user: UserID, isOn: Bool) throws {
        try connection.run(isOn ? Self.insertBlock : Self.dropBlock) { $0.add(user, other) }
    }

    private static let putMute = Statement(
        """
        INSERT INTO mute (conversation, userID, until) VALUES (?, ?, ?)
        ON CONFLICT (conversation, userID) DO UPDATE SET until = excluded.until
        """)
    private static let dropMute = Statement("DELETE FROM mute WHERE conversation = ? AND userID = ?")

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
    private static let insertDelivery = Statement(
        """
        INSERT INTO delivery (number, webhook, conversation, event, seq, original, body) VALUES (?, ?, ?, ?, ?, ?, ?)
        """)

    func insertDelivery(_ row: DeliveryRow) throws {
        // Determine the number first, because encryption binds the text to it.
        let number = try connection.first(Self.nextDelivery) ?? 1
        try connection.run(Self.insertDelivery) {
            $0.add(number, row.webhook, row.conversation)
            $0.add(row.event, row.seq, row.original)
            $0.add(row.body.text, "body", of: .delivery(number))
        }
    }

    private static let recordAttempt = Statement(
        """
        UPDATE delivery SET attempts = attempts + 1, attemptedAt = ?, error = ifnull(?, error), isDelivered = ?
        WHERE webhook = ? AND isDelivered = 0 AND conversation = ? AND number <= ?
        """)
    private static let dropPending = Statement(
        "DELETE FROM delivery WHERE webhook = ? AND isDelivered = 0 AND conversation = ? AND number <= ?")

    func record(
        _ attempt: DeliveryAttempt, to webhook: String, of conversation: Int64, through number: Int64
    ) throws -> Int {
        if attempt.keeps {
            try connection.run(Self.recordAttempt) {
                $0.add(attempt.at, attempt.error, attempt.error == nil)
                $0.add(webhook, conversation, number)
            }
        } else {
            try connection.run(Self.dropPending) { $0.add(webhook, conversation, number) }
        }
        return connection.changes
    }

    private static let nextWebhook = Statement(
        "SELECT webhook FROM delivery WHERE webhook > ? ORDER BY webhook LIMIT 1"
    ) { $0.text() }
    private static let dropDeliveriesToWebhook = Statement(
        """
        DELETE FROM delivery WHERE number IN (SELECT number FROM delivery WHERE webhook = ? ORDER BY number LIMIT ?)
        RETURNING isDelivered
        """
    ) { $0.flag() }

    func dropDeliveries(exceptTo webhooks: Set<String>, limit: Int) throws -> DroppedDeliveries {
        var dropped = DroppedDeliveries()
        var last = ""
        while dropped.count < limit, let webhook = try connection.first(Self.nextWebhook, bind: { $0.add(last) }) {
            last = webhook
            guard !webhooks.contains(webhook) else { continue }
            dropped.add(
                try connection.all(Self.dropDeliveriesToWebhook) { $0.add(webhook, Int64(limit - dropped.count)) })
        }
        return dropped
    }

    private static let dropContent = Statement(
        """
        DELETE FROM delivery WHERE number IN (
            SELECT number FROM delivery WHERE conversation = ? AND seq BETWEEN ? AND ? LIMIT ?)
        RETURNING isDelivered
        """
    ) { $0.flag() }

    func dropDeliveries(of places: SeqRange, in conversation: Int64, limit: Int) throws -> DroppedDeliveries {
        var dropped = DroppedDeliveries()
        dropped.add(try connection.all(Self.dropContent) { $0.add(conversation, places, Int64(limit)) })
        return dropped
    }

    private static let dropOldDelivered = Statement(
        """
        DELETE FROM delivery WHERE number IN (
            SELECT number FROM delivery WHERE isDelivered = 1 AND attemptedAt < ? LIMIT ?)
        """)
    private static let dropExceedingDelivered = Statement(
        """
        DELETE FROM delivery WHERE number IN (
            SELECT number FROM delivery INDEXED BY delivery_logged WHERE webhook = ? AND isDelivered = 1
            AND number < (SELECT seq FROM sqlite_sequence WHERE name = 'delivery') - ? + 1 LIMIT ?)
        """)

    func dropDelivered(before time: Date, exceeding count: Int64, limit: Int) throws -> Int {
        try connection.run(Self.dropOldDelivered) { $0.add(time, Int64(limit)) }
        var dropped = connection.changes
        var last = ""
        while dropped < limit, let webhook = try connection.first(Self.nextWebhook, bind: { $0.add(last) }) {
            last = webhook
            try connection.run(Self.dropExceedingDelivered) { $0.add(webhook, count, Int64(limit - dropped)) }
            dropped += connection.changes
        }
        return dropped
    }
}
