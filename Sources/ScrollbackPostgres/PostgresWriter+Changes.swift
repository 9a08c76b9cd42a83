import ScrollbackEngine
import ScrollbackModel

extension PostgresWriter {
    private static let updateMessage = Statement(
        updating: "message", MessageRow.updatedColumns, key: "conversation, seq")

    func update(_ message: MessageRow, in conversation: Int64) throws {
        try connection.gather(Self.updateMessage, key: [conversation, message.seq]) {
            $0.add(stateOf: message)
            $0.add(conversation, message.seq)
        }
        connection.ahead.put(message, in: conversation)
    }

    private static let removeMessages = Statement(
        "DELETE FROM message WHERE conversation = ? AND seq BETWEEN ? AND ?")
    private static let removeTheirActions = Statement(
        "DELETE FROM action WHERE conversation = ? AND seq BETWEEN ? AND ?")

    func removeMessages(_ places: SeqRange, in conversation: Int64) throws {
        for statement in [Self.removeMessages, Self.removeTheirActions] {
            try connection.enqueue(statement) { $0.add(conversation, places) }
        }
    }

    private static let insertKey = Statement(
        """
        INSERT INTO messageKey (\(KeyRow.columns), conversation) VALUES (\(placeholders(KeyRow.columns)), ?)
        ON CONFLICT (conversation, id) DO NOTHING
        """)

    func insert(_ key: KeyRow, in conversation: Int64) throws {
        try connection.enqueue(Self.insertKey) { $0.add(key, conversation) }
    }

    private static let dropKeys = Statement(
        """
        DELETE FROM messageKey WHERE (id, conversation) IN
            (SELECT id, conversation FROM messageKey WHERE timetoken < ? ORDER BY timetoken LIMIT ?)
        """)

    func dropKeys(before time: Timetoken, limit: Int) throws -> Int {
        try connection.run(Self.dropKeys, bind: { $0.add(time, Int64(limit)) })
    }

    private static let insertChange = Statement(
        insertingInto: "change", "\(ChangeRow.columns), conversation")

    func insert(_ change: ChangeRow, in conversation: Int64) throws {
        try connection.gather(Self.insertChange) { $0.add(change, conversation) }
        connection.ahead.put(change, in: conversation)
    }

    private static let dropChanges = Statement("DELETE FROM change WHERE conversation = ? AND rev <= ?")

    func dropChanges(in conversation: Int64, through rev: Int64) throws {
        try connection.enqueue(Self.dropChanges) { $0.add(conversation, rev) }
    }

    private static let insertAction = Statement(insertingInto: "action", "conversation, \(ActionRow.columns)")

    func insert(_ action: ActionRow, in conversation: Int64) throws {
        try connection.gather(Self.insertAction) { $0.add(action, in: conversation) }
        connection.ahead.put(action, in: conversation)
    }

    private static let removeAction = Statement("DELETE FROM action WHERE conversation = ? AND timetoken = ?")

    func removeAction(at timetoken: Timetoken, in conversation: Int64) throws {
        try connection.enqueue(Self.removeAction) { $0.add(conversation, timetoken) }
    }

    private static let removeActions = Statement("DELETE FROM action WHERE conversation = ? AND seq = ?")

    func removeActions(at seq: Seq, in conversation: Int64) throws {
        try connection.enqueue(Self.removeActions) { $0.add(conversation, seq) }
    }
}
