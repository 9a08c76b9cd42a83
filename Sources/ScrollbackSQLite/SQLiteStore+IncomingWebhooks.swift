import Foundation
import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

extension SQLiteReader {
    private static let incomingWebhook = Statement<IncomingWebhookRow>(
        "SELECT \(IncomingWebhookRow.columns) FROM incomingWebhook WHERE id = ?")

    func incomingWebhook(_ id: Identifier) throws -> IncomingWebhookRow? {
        try connection.first(Self.incomingWebhook) { $0.add(id) }
    }

    private static let incomingWebhooks = Statement<IncomingWebhookRow>(
        "SELECT \(IncomingWebhookRow.columns) FROM incomingWebhook WHERE id > ? ORDER BY id")
    private static let incomingWebhooksOfUser = Statement<IncomingWebhookRow>(
        "SELECT \(IncomingWebhookRow.columns) FROM incomingWebhook WHERE userID = ? AND id > ? ORDER BY id")

    func incomingWebhooks(of user: UserID?, after id: Identifier?, limit: Int) throws -> [IncomingWebhookRow] {
        let last = id?.text ?? ""
        guard let user else { return try connection.all(Self.incomingWebhooks, limit: limit) { $0.add(last) } }
        return try connection.all(Self.incomingWebhooksOfUser, limit: limit) { $0.add(user, last) }
    }
}

extension SQLiteWriter {
    private static let putIncomingWebhook = Statement(
        """
        INSERT INTO incomingWebhook (\(IncomingWebhookRow.columns))
        VALUES (\(placeholders(IncomingWebhookRow.columns)))
        ON CONFLICT (id) DO UPDATE SET conversation = excluded.conversation, userID = excluded.userID,
            secretHash = excluded.secretHash, createdAt = excluded.createdAt
        """)

    func put(_ row: IncomingWebhookRow) throws {
        try connection.run(Self.putIncomingWebhook) {
            $0.add(row.id, row.conversation.description, row.user)
            $0.add(bytes: row.secretHash)
            $0.add(row.createdAt)
        }
    }

    private static let dropIncomingWebhook = Statement("DELETE FROM incomingWebhook WHERE id = ?")

    func dropIncomingWebhook(_ id: Identifier) throws {
        try connection.run(Self.dropIncomingWebhook) { $0.add(id) }
    }

    private static let dropIncomingWebhooksTo = Statement("DELETE FROM incomingWebhook WHERE conversation = ?")

    func dropIncomingWebhooks(to conversation: ConversationID) throws {
        try connection.run(Self.dropIncomingWebhooksTo) { $0.add(conversation.description) }
    }
}

extension IncomingWebhookRow: StoredRow {
    static let columns = "id, conversation, userID, secretHash, createdAt"

    init(_ columns: inout Columns) throws {
        let id = Identifier(known: columns.text())
        let conversation = try ConversationID(columns.text())
        self.init(
            id: id, conversation: conversation, user: columns.userID(), secretHash: columns.optionalBytes() ?? [],
            createdAt: columns.date())
    }
}
