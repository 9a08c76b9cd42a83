import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

extension SQLiteReader {
    private static let spans = Statement<SpanRow>(
        """
        SELECT conversation, userID, \(SpanRow.columns) FROM span WHERE conversation = ? AND userID = ?
        ORDER BY joined
        """)

    func spans(of user: UserID, in conversation: Int64) throws -> [SpanRow] {
        try connection.all(Self.spans) { $0.add(conversation, user) }
    }
}

extension SQLiteWriter {
    private static let putSpan = Statement(
        """
        INSERT INTO span (conversation, userID, \(SpanRow.columns)) VALUES (?, ?, \(placeholders(SpanRow.columns)))
        ON CONFLICT (conversation, userID, joined) DO UPDATE
        SET (\(SpanRow.columns)) = (\(excluded(SpanRow.columns)))
        """)

    func put(_ span: SpanRow, of user: UserID, in conversation: Int64) throws {
        let encryptedRow = EncryptedRow.span(conversation, user, span.joined)
        let end = span.end
        try connection.run(Self.putSpan) {
            $0.add(conversation, user, span.joined, span.left)
            $0.add(end?.time, end?.rev ?? 0, end?.isVoluntary ?? false)
            $0.add(end?.name, "name", of: encryptedRow)
            $0.add(end?.avatar, "avatar", of: encryptedRow)
        }
    }
}

extension SpanRow: StoredRow {
    static let columns = #"joined, "left", endedAt, rev, isVoluntary, name, avatar"#

    /// Reads the conversation, the user and ``columns``.
    init(_ columns: inout Columns) throws {
        let (conversation, user, joined) = (columns.integer(), columns.userID(), columns.integer())
        let encryptedRow = EncryptedRow.span(conversation, user, joined)
        let (left, endedAt) = (columns.optionalInteger(), columns.optionalInteger())
        let (rev, isVoluntary) = (columns.integer(), columns.flag())
        let name = try columns.optionalText("name", of: encryptedRow)
        let avatar = try columns.optionalText("avatar", of: encryptedRow)
        self.init(
            joined: joined, left: left,
            end: endedAt.map { time in
                End(
                    time: Timetoken(rawValue: UInt64(bitPattern: time)), rev: rev, isVoluntary: isVoluntary,
                    name: name, avatar: avatar)
            })
    }
}
