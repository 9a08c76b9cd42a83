import Foundation
import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

extension SQLiteReader {
    private static let scheduledOfUser = Statement<ScheduledRow>(
        "SELECT \(ScheduledRow.columns) FROM scheduled WHERE userID = ? AND id > ? ORDER BY id")

    func scheduled(of user: UserID, after id: MessageID?, limit: Int) throws -> [ScheduledRow] {
        try connection.all(Self.scheduledOfUser, limit: limit) { $0.add(user, id ?? MessageID(high: 0, low: 0)) }
    }

    private static let scheduledMessage = Statement<ScheduledRow>(
        "SELECT \(ScheduledRow.columns) FROM scheduled WHERE userID = ? AND id = ?")

    func scheduled(_ id: MessageID, of user: UserID) throws -> ScheduledRow? {
        try connection.first(Self.scheduledMessage) { $0.add(user, id) }
    }

    private static let scheduledCount = Statement("SELECT count(*) FROM scheduled WHERE userID = ?") { $0.integer() }

    func scheduledCount(of user: UserID) throws -> Int {
        Int(try connection.first(Self.scheduledCount) { $0.add(user) } ?? 0)
    }

    private static let due = Statement<ScheduledRow>(
        "SELECT \(ScheduledRow.columns) FROM scheduled WHERE failure IS NULL AND dueAt <= ? ORDER BY dueAt")

    func scheduled(dueBy time: Date, limit: Int) throws -> [ScheduledRow] {
        try connection.all(Self.due, limit: limit) { $0.add(time) }
    }

    private static let nextScheduled = Statement(
        "SELECT dueAt FROM scheduled WHERE failure IS NULL AND dueAt >= ? ORDER BY dueAt LIMIT 1"
    ) { $0.optionalDate() }

    func nextScheduled() throws -> Date? {
        try connection.first(Self.nextScheduled) { $0.add(Date(timeIntervalSinceReferenceDate: -.infinity)) } ?? nil
    }

    private static let retryDigest = Statement("SELECT digest FROM cancelled WHERE userID = ? AND id = ?") {
        $0.integer()
    }

    func retryDigest(of id: MessageID, of user: UserID) throws -> Int64? {
        try connection.first(Self.retryDigest) { $0.add(user, id) }
    }
}

extension SQLiteWriter {
    private static let putScheduled = Statement(
        """
        INSERT INTO scheduled (\(ScheduledRow.columns)) VALUES (\(placeholders(ScheduledRow.columns)))
        ON CONFLICT (userID, id) DO UPDATE SET conversation = excluded.conversation, sendAt = excluded.sendAt,
            dueAt = excluded.dueAt, body = excluded.body, failure = excluded.failure
        """)

    func put(_ row: ScheduledRow) throws {
        try connection.run(Self.putScheduled) {
            $0.add(row.user, row.id, row.conversation.description)
            $0.add(row.sendAt)
            $0.add(row.dueAt)
            $0.add(row.body.text, "body", of: .scheduled(row.user, row.id))
            $0.add(row.failure)
        }
    }

    private static let dropScheduledMessage = Statement("DELETE FROM scheduled WHERE userID = ? AND id = ?")

    func dropScheduled(_ id: MessageID, of user: UserID) throws {
        try connection.run(Self.dropScheduledMessage) { $0.add(user, id) }
    }

    private static let dropScheduledInConversation = Statement("DELETE FROM scheduled WHERE conversation = ?")

    func dropScheduled(in conversation: ConversationID) throws {
        try connection.run(Self.dropScheduledInConversation) { $0.add(conversation.description) }
    }

    private static let insertRetryDigest = Statement(
        """
        INSERT INTO cancelled (userID, id, digest, at) VALUES (?, ?, ?, ?)
        ON CONFLICT (userID, id) DO UPDATE SET digest = excluded.digest, at = excluded.at
        """)
    private static let dropOldestRetryDigests = Statement(
        """
        DELETE FROM cancelled WHERE (userID, id) IN
            (SELECT userID, id FROM cancelled WHERE userID = ? ORDER BY at DESC, id DESC LIMIT -1 OFFSET ?)
        """)

    func insertRetryDigest(_ id: MessageID, of user: UserID, digest: Int64, at time: Date, keeping limit: Int) throws {
        try connection.run(Self.insertRetryDigest) {
            $0.add(user, id)
            $0.add(digest)
            $0.add(time)
        }
        try connection.run(Self.dropOldestRetryDigests) { $0.add(user, Int64(limit)) }
    }
}

extension ScheduledRow: StoredRow {
    static let columns = "userID, id, conversation, sendAt, dueAt, body, failure"

    init(_ columns: inout Columns) throws {
        let user = columns.userID()
        let id = MessageID(try columns.uuid("id"))
        let conversation = try ConversationID(columns.text())
        let (sendAt, dueAt) = (columns.optionalDate(), columns.optionalDate())
        self.init(
            user: user, id: id, conversation: conversation, sendAt: sendAt ?? .distantPast,
            body: try columns.json("body", of: .scheduled(user, id)) ?? RawJSON(known: "{}"),
            failure: columns.optionalText())
        self.dueAt = dueAt ?? self.sendAt
    }
}
