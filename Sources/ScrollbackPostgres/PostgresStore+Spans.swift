import ScrollbackEngine
import ScrollbackModel

extension PostgresReader {
    private static let spans = Statement<SpanRow>(
        "SELECT \(SpanRow.columns) FROM span WHERE conversation = ? AND userID = ? ORDER BY joined")

    func spans(of user: UserID, in conversation: Int64) throws -> [SpanRow] {
        if let known = connection.ahead.spans(of: user, in: conversation) { return known }
        return try connection.all(Self.spans) { $0.add(conversation, user) }
    }
}

extension PostgresWriter {
    private static let putSpan = Statement(
        """
        INSERT INTO span (conversation, userID, \(SpanRow.columns)) VALUES (?, ?, \(placeholders(SpanRow.columns)))
        ON CONFLICT (conversation, userID, joined) DO UPDATE
        SET (\(SpanRow.columns)) = (\(excluded(SpanRow.columns)))
        """)

    func put(_ span: SpanRow, of user: UserID, in conversation: Int64) throws {
        let end = span.end
        try connection.enqueue(Self.putSpan) {
            $0.add(conversation, user, span.joined, span.left)
            $0.add(end?.time, end?.rev ?? 0, end?.isVoluntary ?? false)
            $0.add(utf8: end?.name)
            $0.add(utf8: end?.avatar)
        }
    }
}

extension SpanRow: StoredRow {
    static let columns = #"joined, "left", endedAt, rev, isVoluntary, name, avatar"#

    init(_ columns: inout Columns) throws {
        let joined = columns.integer()
        let (left, endedAt) = (columns.optionalInteger(), columns.optionalInteger())
        let (rev, isVoluntary) = (columns.integer(), columns.flag())
        let name = try columns.optionalUTF8("name")
        let avatar = try columns.optionalUTF8("avatar")
        self.init(
            joined: joined, left: left,
            end: endedAt.map { time in
                End(
                    time: Timetoken(rawValue: UInt64(bitPattern: time)), rev: rev, isVoluntary: isVoluntary,
                    name: name, avatar: avatar)
            })
    }
}
