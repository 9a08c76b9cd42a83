import Foundation
import GRDB
import ScrollbackModel
import ScrollbackWire

/// How a message's row is read and written: one list of columns, one order.
enum MessageColumns {
    static let list =
        "seq, n, timetoken, id, sender, type, content, rev, flags, mentions, metadata, extra, customType, push, replyTo, editedAt"

    /// Inserts a row, or replaces one that fewer changes have touched.
    static let upsert = """
        INSERT INTO message (conversation, \(list))
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (conversation, seq) DO UPDATE SET
            n = excluded.n, timetoken = excluded.timetoken, id = excluded.id, sender = excluded.sender,
            type = excluded.type, content = excluded.content, rev = excluded.rev, flags = excluded.flags,
            mentions = excluded.mentions, metadata = excluded.metadata, extra = excluded.extra,
            customType = excluded.customType, push = excluded.push, replyTo = excluded.replyTo,
            editedAt = excluded.editedAt
        WHERE excluded.rev > message.rev
        """

    static func arguments(_ message: Message, conversation: Int64) -> StatementArguments {
        let attributes = message.attributes
        return [
            conversation, message.seq, message.n, Int64(bitPattern: message.timetoken.rawValue), message.id.data,
            message.sender.text, message.type.rawValue, message.content?.json.text, message.rev,
            attributes.traits.bits, attributes.mentions?.json, attributes.metadata?.text, attributes.extra?.text,
            attributes.customType, attributes.push?.text, attributes.replyTo?.data,
            message.editedAt?.timeIntervalSince1970,
        ]
    }

    static func message(_ row: Row, in conversation: ConversationID, epoch: Epoch) throws -> Message {
        var attributes = MessageAttributes()
        if let text: String = row[9] { attributes.mentions = try Mentions(json: text) }
        attributes.metadata = (row[10] as String?).map { RawJSON(known: $0) }
        attributes.extra = (row[11] as String?).map { RawJSON(known: $0) }
        attributes.customType = row[12]
        attributes.push = (row[13] as String?).map { RawJSON(known: $0) }
        attributes.replyTo = (row[14] as Data?).map { MessageID(data: $0) }
        attributes.traits = MessageTraits(bits: row[8])
        let type = MessageType(rawValue: row[5])
        let content: String? = row[6]
        let editedAt: Double? = row[15]
        return Message(
            conversation: conversation, seq: row[0], n: row[1], id: MessageID(data: row[3]),
            timetoken: Timetoken(rawValue: UInt64(bitPattern: row[2])), epoch: epoch,
            sender: UserID(known: row[4]), type: type,
            content: content.map { MessageContent(known: type, json: RawJSON(known: $0)) }, rev: row[7],
            attributes: attributes, editedAt: editedAt.map { Date(timeIntervalSince1970: $0) })
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
