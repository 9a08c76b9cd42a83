import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

extension SQLiteReader {
    private static let drafts = Statement<DraftRow>(
        "SELECT userID, \(DraftRow.columns) FROM draft WHERE userID = ? AND rev > ? ORDER BY rev")

    func drafts(of user: UserID, after rev: Int64, limit: Int) throws -> [DraftRow] {
        try connection.all(Self.drafts, limit: limit) { $0.add(user, rev) }
    }

    private static let draftCount = Statement(
        "SELECT count(*) FROM draft WHERE userID = ? AND body IS NOT NULL"
    ) { $0.integer() }

    func draftCount(of user: UserID) throws -> Int {
        Int(try connection.first(Self.draftCount) { $0.add(user) } ?? 0)
    }

    private static let draft = Statement<DraftRow>(
        "SELECT userID, \(DraftRow.columns) FROM draft WHERE userID = ? AND conversation = ?")

    func draft(of user: UserID, in conversation: ConversationID) throws -> DraftRow? {
        try connection.first(Self.draft) { $0.add(user, conversation.description) }
    }
}

extension SQLiteWriter {
    private static let putDraft = Statement(
        """
        INSERT INTO draft (userID, \(DraftRow.columns)) VALUES (?, \(placeholders(DraftRow.columns)))
        ON CONFLICT (userID, conversation) DO UPDATE SET body = excluded.body, rev = excluded.rev
        """)

    func put(_ draft: DraftRow, of user: UserID) throws {
        let name = draft.conversation.description
        try connection.run(Self.putDraft) {
            $0.add(user, name)
            $0.add(draft.body?.text, "body", of: .draft(user, name))
            $0.add(draft.rev)
        }
    }

    private static let dropDeletedDrafts = Statement(
        """
        DELETE FROM draft WHERE userID = ? AND body IS NULL AND rev <= (
            SELECT rev FROM draft WHERE userID = ? AND body IS NULL ORDER BY rev DESC LIMIT 1 OFFSET ?)
        """)

    func dropDeletedDrafts(of user: UserID, keeping count: Int) throws {
        try connection.run(Self.dropDeletedDrafts) { $0.add(user, user, Int64(count)) }
    }

    private static let dropDrafts = Statement("DELETE FROM draft WHERE conversation = ?")

    func dropDrafts(in conversation: ConversationID) throws {
        try connection.run(Self.dropDrafts) { $0.add(conversation.description) }
    }
}

extension DraftRow: StoredRow {
    static let columns = "conversation, body, rev"

    /// Reads the user and ``columns``.
    init(_ columns: inout Columns) throws {
        let user = columns.userID()
        let name = columns.text()
        self.init(
            conversation: try ConversationID(name), body: try columns.json("body", of: .draft(user, name)),
            rev: columns.integer())
    }
}
