import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

extension SQLiteWriter {
    private static let updateMessage = Statement(
        """
        UPDATE message SET (\(MessageRow.updatedColumns)) = (\(placeholders(MessageRow.updatedColumns)))
        WHERE conversation = ? AND seq = ?
        """)

    func update(_ message: MessageRow, in conversation: Int64) throws {
        try connection.run(Self.updateMessage) {
            $0.add(stateOf: message, in: conversation)
            $0.add(conversation, message.seq)
        }
        guard connection.changes == 1 else {
            throw ChatError(.internalError, "Message \(message.seq) does not exist in conversation \(conversation).")
        }
    }

    private static let removeMessages = Statement(
        "DELETE FROM message WHERE conversation = ? AND seq BETWEEN ? AND ?")
    private static let removeTheirActions = Statement(
        "DELETE FROM action WHERE conversation = ? AND seq BETWEEN ? AND ?")

    func removeMessages(_ places: SeqRange, in conversation: Int64) throws {
        for statement in [Self.removeMessages, Self.removeTheirActions] {
            try connection.run(statement) { $0.add(conversation, places) }
        }
    }

    private static let insertKey = Statement(
        """
        INSERT INTO messageKey (\(KeyRow.columns), conversation) VALUES (\(placeholders(KeyRow.columns)), ?)
        ON CONFLICT (conversation, id) DO NOTHING
        """)

    func insert(_ key: KeyRow, in conversation: Int64) throws {
        try connection.run(Self.insertKey) { $0.add(key, conversation) }
    }

    private static let dropKeys = Statement(
        """
        DELETE FROM messageKey WHERE (id, conversation) IN
            (SELECT id, conversation FROM messageKey WHERE timetoken < ? ORDER BY timetoken LIMIT ?)
        """)

    func dropKeys(before time: Timetoken, limit: Int) throws -> Int {
        try connection.run(Self.dropKeys) { $0.add(time, Int64(limit)) }
        return connection.changes
    }

    private static let insertChange = Statement(
        "INSERT INTO change (\(ChangeRow.columns), conversation) VALUES (\(placeholders(ChangeRow.columns)), ?)")

    func insert(_ change: ChangeRow, in conversation: Int64) throws {
        try connection.run(Self.insertChange) { $0.add(change, conversation) }
    }

    private static let dropChanges = Statement("DELETE FROM change WHERE conversation = ? AND rev <= ?")

    func dropChanges(in conversation: Int64, through rev: Int64) throws {
        try connection.run(Self.dropChanges) { $0.add(conversation, rev) }
    }

    private static let insertAction = Statement(
        "INSERT INTO action (\(ActionRow.columns)) VALUES (\(placeholders(ActionRow.columns)))")

    func insert(_ action: ActionRow, in conversation: Int64) throws {
        try connection.run(Self.insertAction) { $0.add(action, in: conversation) }
    }

    private static let removeAction = Statement("DELETE FROM action WHERE conversation = ? AND timetoken = ?")

    func removeAction(at timetoken: Timetoken, in conversation: Int64) throws {
        try connection.run(Self.removeAction) { $0.add(conversation, timetoken) }
    }

    private static let removeActions = Statement("DELETE FROM action WHERE conversation = ? AND seq = ?")

    func removeActions(at seq: Seq, in conversation: Int64) throws {
        try connection.run(Self.removeActions) { $0.add(conversation, seq) }
    }
}
