import Foundation
import GRDB
import ScrollbackModel
import ScrollbackWire
import StoreFiles

/// How a message's row is read and written: one list of columns, one order.
enum MessageColumns {
    static let list = """
        seq, n, timetoken, id, sender, type, content, rev, flags, mentions, metadata, extra, customType, push, replyTo, \
        editedAt, thread, replyCount, lastReply, actions
        """

    /// Inserts a row, or replaces one that fewer changes have touched.
    static let upsert = """
        INSERT INTO message (conversation, \(list))
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (conversation, seq) DO UPDATE SET
            n = excluded.n, timetoken = excluded.timetoken, id = excluded.id, sender = excluded.sender,
            type = excluded.type, content = excluded.content, rev = excluded.rev, flags = excluded.flags,
            mentions = excluded.mentions, metadata = excluded.metadata, extra = excluded.extra,
            customType = excluded.customType, push = excluded.push, replyTo = excluded.replyTo,
            editedAt = excluded.editedAt, thread = excluded.thread, replyCount = excluded.replyCount,
            lastReply = excluded.lastReply, actions = excluded.actions
        WHERE excluded.rev > message.rev
        """

    static func arguments(_ message: Message, conversation: Int64) -> StatementArguments {
        let attributes = message.attributes
        return [
            conversation, message.seq, message.n, Int64(bitPattern: message.timetoken.rawValue), message.id.data,
            message.sender.text, message.type.rawValue, message.content?.json.text, message.rev,
            attributes.flagBits, attributes.mentions?.json, attributes.metadata?.text, attributes.extra?.text,
            attributes.customType, attributes.push?.text, attributes.replyTo?.data,
            message.editedAt?.timeIntervalSinceReferenceDate, message.thread?.data, message.replies?.count,
            message.replies.map { Int64(bitPattern: $0.lastReplyAt.rawValue) },
            message.actions.isEmpty ? nil : message.actions.json,
        ]
    }

    static func message(_ row: inout Columns, in conversation: ConversationID, epoch: Epoch) throws -> Message {
        let seq = row.integer()
        let n = row.integer()
        let timetoken = Timetoken(rawValue: row.bits())
        guard let id = row.optionalUUID() else { throw ChatError(.localStorage, "a stored message has no id") }
        let sender = UserID(known: row.text())
        let type = MessageType(rawValue: row.text())
        let content = row.optionalText().map { MessageContent(known: type, json: RawJSON(known: $0)) }
        let rev = row.integer()
        var attributes = MessageAttributes()
        attributes.setFlags(bits: row.integer())
        attributes.mentions = try row.optionalText().map { try Mentions(json: $0) }
        attributes.metadata = row.optionalText().map { RawJSON(known: $0) }
        attributes.extra = row.optionalText().map { RawJSON(known: $0) }
        attributes.customType = row.optionalText()
        attributes.push = row.optionalText().map { RawJSON(known: $0) }
        attributes.replyTo = row.optionalUUID().map { MessageID($0) }
        let editedAt = row.optionalDate()
        let thread = row.optionalUUID().map { MessageID($0) }
        let replyCount = row.optionalInteger()
        let lastReply = Timetoken(rawValue: row.bits())
        let actions = try row.optionalText().map { try [ActionSummary](json: $0) }
        return Message(
            conversation: conversation, seq: seq, n: n, id: MessageID(id), timetoken: timetoken, epoch: epoch,
            sender: sender, type: type, content: content, rev: rev, attributes: attributes, editedAt: editedAt,
            thread: thread, replies: replyCount.map { ReplySummary(count: $0, lastReplyAt: lastReply) },
            actions: actions ?? [])
    }
}

extension Statement {
    /// The messages a statement over ``MessageColumns/list`` finds, as long as `take` answers whether it wants more.
    func messages(
        in conversation: ConversationID, epoch: Epoch, bind: (inout Parameters) -> Void,
        take: (Message) -> Bool
    ) throws {
        try run(bind: bind) { row in
            take(try MessageColumns.message(&row, in: conversation, epoch: epoch))
        } failure: { code, _ in
            DatabaseError(resultCode: ResultCode(rawValue: code), sql: sql)
        }
    }
}

extension MessageID {
    /// Its sixteen bytes.
    var data: Data { withUnsafeBytes(of: uuid.uuid) { Data($0) } }

    init(data: Data) {
        var bytes: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        withUnsafeMutableBytes(of: &bytes) { $0.copyBytes(from: data.prefix(16)) }
        self.init(UUID(uuid: bytes))
    }
}

extension Mentions {
    var json: String {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.text
    }

    init(json: String) throws(ChatError) {
        var reader = JSONReader(json)
        try self.init(from: &reader)
    }
}

extension [ActionSummary] {
    var json: String {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.text
    }

    init(json: String) throws(ChatError) {
        var reader = JSONReader(json)
        try self.init(from: &reader)
    }
}
