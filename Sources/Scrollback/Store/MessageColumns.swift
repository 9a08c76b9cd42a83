import Foundation
import GRDB
import ScrollbackModel
import ScrollbackWire
import SQLiteSupport

/// The columns of a message row, in the order in which they are read and written.
enum MessageColumns {
    static let list = """
        seq, countedIndex, timetoken, id, sender, type, content, rev, flags, mentions, metadata, extra, customType, \
        push, replyTo, editedAt, thread, replyCount, lastReply, actions
        """

    /// The bit of `flags` for pinned messages, for which there is an index.
    ///
    /// The pin itself is among the actions, which can be encrypted.
    static let pinnedBit: Int64 = 64

    /// Inserts a row, or replaces one with a lower revision.
    static let upsert = """
        INSERT INTO message (conversation, \(list))
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (conversation, seq) DO UPDATE SET
            countedIndex = excluded.countedIndex, timetoken = excluded.timetoken, id = excluded.id,
            sender = excluded.sender, type = excluded.type, content = excluded.content, rev = excluded.rev,
            flags = excluded.flags,
            mentions = excluded.mentions, metadata = excluded.metadata, extra = excluded.extra,
            customType = excluded.customType, push = excluded.push, replyTo = excluded.replyTo,
            editedAt = excluded.editedAt, thread = excluded.thread, replyCount = excluded.replyCount,
            lastReply = excluded.lastReply, actions = excluded.actions
        WHERE excluded.rev > message.rev
        """

    /// Binds the parameters of ``upsert``.
    static func bind(_ message: Message, conversation: Int64, to parameters: inout Parameters) {
        func row() -> EncryptedRow { .message(conversation, message.seq) }
        parameters.add(conversation)
        parameters.add(message.seq)
        parameters.add(message.countedIndex)
        parameters.add(bits: message.timetoken.rawValue)
        parameters.add(message.id.uuid)
        parameters.add(message.sender.text)
        parameters.add(message.type.rawValue)
        parameters.add(message.content?.json.text, "content", of: row())
        parameters.add(message.rev)
        parameters.add(message.attributes.flagBits | (message.isPinned ? pinnedBit : 0))
        parameters.add(message.attributes.mentions?.json, "mentions", of: row())
        parameters.add(message.attributes.metadata?.text, "metadata", of: row())
        parameters.add(message.attributes.extra?.text, "extra", of: row())
        parameters.add(message.attributes.customType)
        parameters.add(message.attributes.push?.text, "push", of: row())
        parameters.add(message.attributes.replyTo?.uuid)
        parameters.add(message.editedAt)
        parameters.add(message.thread?.uuid)
        parameters.add(message.replies?.count)
        parameters.add(message.replies.map { Int64(bitPattern: $0.lastReplyAt.rawValue) })
        parameters.add(message.actions.isEmpty ? nil : message.actions.json, "actions", of: row())
    }

    static func message(
        _ row: inout Columns, in conversation: ConversationID, number: Int64, epoch: Epoch
    ) throws -> Message {
        let seq = row.integer()
        func sealed() -> EncryptedRow { .message(number, seq) }
        let countedIndex = row.integer()
        let timetoken = Timetoken(rawValue: row.bits())
        guard let id = row.optionalUUID() else { throw ChatError(.localStorage, "A stored message has no ID.") }
        let sender = UserID(known: row.text())
        let type = MessageType(rawValue: row.text())
        let content = try row.optionalText("content", of: sealed()).map {
            MessageContent(known: type, json: RawJSON(known: $0))
        }
        let rev = row.integer()
        var attributes = MessageAttributes()
        attributes.setFlags(bits: row.integer())
        attributes.mentions = try row.optionalText("mentions", of: sealed()).map { try Mentions(json: $0) }
        attributes.metadata = try row.optionalText("metadata", of: sealed()).map { RawJSON(known: $0) }
        attributes.extra = try row.optionalText("extra", of: sealed()).map { RawJSON(known: $0) }
        attributes.customType = row.optionalText()
        attributes.push = try row.optionalText("push", of: sealed()).map { RawJSON(known: $0) }
        attributes.replyTo = row.optionalUUID().map { MessageID($0) }
        let editedAt = row.optionalDate()
        let thread = row.optionalUUID().map { MessageID($0) }
        let replyCount = row.optionalInteger()
        let lastReply = Timetoken(rawValue: row.bits())
        let actions = try row.optionalText("actions", of: sealed()).map { try [ActionSummary](json: $0) }
        return Message(
            conversation: conversation, seq: seq, countedIndex: countedIndex, id: MessageID(id), timetoken: timetoken,
            epoch: epoch,
            sender: sender, type: type, content: content, rev: rev, attributes: attributes, editedAt: editedAt,
            thread: thread, replies: replyCount.map { ReplySummary(count: $0, lastReplyAt: lastReply) },
            actions: actions ?? [])
    }
}

extension LocalReader {
    /// Passes the messages that match a condition to `take`, as they are stored, until `take` returns `false`.
    ///
    /// - Parameters:
    ///   - condition: The SQL that follows `WHERE conversation = ? AND`.
    ///   - bind: Binds the condition's parameters, after the conversation's number.
    ///   - take: Receives each message and returns whether to continue.
    func eachMessage(
        in conversation: ConversationID, number: Int64, epoch: Epoch, where condition: String,
        bind: (inout Parameters) -> Void, take: (consuming Message) -> Bool
    ) throws {
        try run("SELECT \(MessageColumns.list) FROM message WHERE conversation = ? AND \(condition)") {
            $0.add(number)
            bind(&$0)
        } row: { row in
            take(try MessageColumns.message(&row, in: conversation, number: number, epoch: epoch))
        }
    }

    /// Returns the first message that matches a condition, decrypted if possible.
    func message(
        in conversation: ConversationID, number: Int64, epoch: Epoch, where condition: String,
        bind: (inout Parameters) -> Void
    ) throws -> Message? {
        var found: Message?
        try eachMessage(in: conversation, number: number, epoch: epoch, where: condition, bind: bind) {
            found = decrypted($0)
            return false
        }
        return found
    }

    /// Returns the value that `read` reads from the first row, or `nil` if there is no row.
    func first<Value>(
        _ sql: String, bind: (inout Parameters) -> Void, read: (inout Columns) throws -> Value
    ) throws -> Value? {
        var found: Value?
        try run(sql, bind: bind) { row in
            found = try read(&row)
            return false
        }
        return found
    }

    /// Runs a cached statement through SQLite's C functions and passes each row to `row`.
    func run(
        _ sql: String, bind: (inout Parameters) -> Void = { _ in }, row: (inout Columns) throws -> Bool = { _ in true }
    ) throws {
        try run(db.cachedStatement(sql: sql), bind: bind, row: row)
    }

    func run(
        _ statement: Statement, bind: (inout Parameters) -> Void, row: (inout Columns) throws -> Bool = { _ in true }
    ) throws {
        try statement.run(cipher: cipher, bind: bind, row: row) { code, _ in
            DatabaseError(resultCode: ResultCode(rawValue: code), sql: statement.sql)
        }
    }
}

extension MessageID {
    /// The 16 bytes of the ID.
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
