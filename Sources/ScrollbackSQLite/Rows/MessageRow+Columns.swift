import Foundation
import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

extension MessageRow: StoredRow {
    static let columns = "conversation, seq, countedIndex, timetoken, id, sender, type, digest, \(updatedColumns)"
    /// The columns that a change can alter.
    static let updatedColumns = """
        flags, rev, editedAt, customType, mentions, replyTo, thread, replyCount, lastReply, actions, metadata, extra, \
        push, content
        """

    init(_ columns: inout Columns) throws {
        let (conversation, seq) = (columns.integer(), columns.integer())
        let encryptedRow = EncryptedRow.message(conversation, seq)
        let countedIndex = columns.integer()
        let timetoken = columns.timetoken()
        let id = MessageID(try columns.uuid("id"))
        let sender = columns.userID()
        let type = MessageType(rawValue: columns.text())
        let digest = columns.integer()
        let flags = columns.integer()
        let rev = columns.integer()
        let editedAt = columns.optionalDate()
        var attributes = MessageAttributes(customType: columns.optionalText())
        attributes.setFlags(bits: flags)
        attributes.mentions = try columns.optionalText("mentions", of: encryptedRow).map { try Mentions(stored: $0) }
        attributes.replyTo = columns.optionalMessageID()
        let thread = columns.optionalMessageID()
        let replyCount = columns.optionalInteger()
        let lastReply = columns.timetoken()
        let actions = try columns.optionalText("actions", of: encryptedRow).map { try [ActionSummary](stored: $0) }
        attributes.metadata = try columns.json("metadata", of: encryptedRow)
        attributes.extra = try columns.json("extra", of: encryptedRow)
        attributes.push = try columns.json("push", of: encryptedRow)
        self.init(
            seq: seq, countedIndex: countedIndex, timetoken: timetoken, id: id, sender: sender, type: type,
            content: try columns.json("content", of: encryptedRow), attributes: attributes, rev: rev,
            editedAt: editedAt, digest: digest, thread: thread,
            replies: replyCount.map { ReplySummary(count: $0, lastReplyAt: lastReply) }, actions: actions ?? [])
    }
}

extension Parameters {
    mutating func add(_ row: MessageRow, in conversation: Int64) {
        add(conversation, row.seq, row.countedIndex, row.timetoken)
        add(row.id, row.sender, row.type.rawValue, row.digest)
        add(stateOf: row, in: conversation)
    }

    mutating func add(stateOf row: MessageRow, in conversation: Int64) {
        let encryptedRow = EncryptedRow.message(conversation, row.seq)
        add(row.attributes.flagBits, row.rev, row.editedAt, row.attributes.customType)
        add(row.attributes.mentions?.stored, "mentions", of: encryptedRow)
        add(row.attributes.replyTo, row.thread, row.replies?.count, row.replies?.lastReplyAt)
        add(row.actions.isEmpty ? nil : row.actions.stored, "actions", of: encryptedRow)
        add(row.attributes.metadata?.text, "metadata", of: encryptedRow)
        add(row.attributes.extra?.text, "extra", of: encryptedRow)
        add(row.attributes.push?.text, "push", of: encryptedRow)
        add(row.content?.text, "content", of: encryptedRow)
    }
}
