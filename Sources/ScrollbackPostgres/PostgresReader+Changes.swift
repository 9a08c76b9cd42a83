import ScrollbackEngine
import ScrollbackModel

extension PostgresReader {
    private static let key = Statement<KeyRow>(
        "SELECT \(KeyRow.columns) FROM messageKey WHERE id = ? AND conversation = ?")

    func key(_ id: MessageID, in conversation: Int64) throws -> KeyRow? {
        if let known = connection.ahead.key(id, in: conversation) { return known }
        return try connection.first(Self.key) { $0.add(id, conversation) }
    }

    private static let changes = Statement<ChangeRow>(
        "SELECT \(ChangeRow.columns) FROM change WHERE conversation = ? AND rev > ? ORDER BY rev LIMIT ?")

    func changes(in conversation: Int64, after rev: Int64, limit: Int) throws -> [ChangeRow] {
        if let known = connection.ahead.snapshot.changes(in: conversation, after: rev, limit: limit) { return known }
        return try connection.all(Self.changes, limit: limit) { $0.add(conversation, rev) }
    }

    private static let changeByOperation = Statement<ChangeRow>(
        "SELECT \(ChangeRow.columns) FROM change WHERE operation = ? AND conversation = ?")

    func change(_ operation: MessageID, in conversation: Int64) throws -> ChangeRow? {
        if let known = connection.ahead.change(operation, in: conversation) { return known }
        return try connection.first(Self.changeByOperation) { $0.add(operation, conversation) }
    }

    private static let actions = Statement<ActionRow>(
        "SELECT \(ActionRow.columns) FROM action WHERE conversation = ? AND timetoken > ? ORDER BY timetoken LIMIT ?")
    private static let actionsAt = Statement<ActionRow>(
        """
        SELECT \(ActionRow.columns) FROM action WHERE conversation = ? AND seq = ? AND timetoken > ?
        ORDER BY timetoken LIMIT ?
        """)

    func actions(at seq: Seq?, in conversation: Int64, after: Timetoken?, limit: Int) throws -> [ActionRow] {
        let after = after ?? Timetoken(rawValue: 0)
        guard let seq else { return try connection.all(Self.actions, limit: limit) { $0.add(conversation, after) } }
        return try connection.all(Self.actionsAt, limit: limit) { $0.add(conversation, seq, after) }
    }

    private static let actionsOfSender = Statement<ActionRow>(
        "SELECT \(ActionRow.columns) FROM action WHERE conversation = ? AND seq = ? AND sender = ?")

    func actions(at seq: Seq, by sender: UserID, in conversation: Int64) throws -> [ActionRow] {
        try connection.ahead.actions(at: seq, by: sender, in: conversation)
            ?? connection.all(Self.actionsOfSender) { $0.add(conversation, seq, sender) }
    }

    private static let actionByTime = Statement<ActionRow>(
        "SELECT \(ActionRow.columns) FROM action WHERE conversation = ? AND timetoken = ?")

    func action(at timetoken: Timetoken, in conversation: Int64) throws -> ActionRow? {
        try connection.first(Self.actionByTime) { $0.add(conversation, timetoken) }
    }

    private static let pinnedBelow = Statement(
        "SELECT seq FROM action WHERE conversation = ? AND type = 'pin' AND seq < ? ORDER BY seq DESC LIMIT ?"
    ) { $0.integer() }

    func pins(in conversation: Int64, below seq: Seq?, limit: Int) throws -> [Seq] {
        try connection.all(Self.pinnedBelow, limit: limit) { $0.add(conversation, seq ?? .max) }
    }

    private static let lastAction = Statement(
        "SELECT timetoken FROM action WHERE conversation = ? ORDER BY timetoken DESC LIMIT 1"
    ) { $0.timetoken() }

    func lastAction(in conversation: Int64) throws -> Timetoken? {
        if let known = connection.ahead.lastAction(in: conversation) { return known }
        return try connection.first(Self.lastAction) { $0.add(conversation) }
    }
}
