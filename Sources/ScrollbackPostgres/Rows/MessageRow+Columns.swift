import Foundation
import ScrollbackEngine
import ScrollbackModel

extension MessageRow: StoredRow {
    static let columns = "seq, countedIndex, timetoken, id, sender, type, digest, \(updatedColumns)"
    /// The columns that a change can alter.
    static let updatedColumns = """
        flags, rev, editedAt, customType, mentions, replyTo, thread, replyCount, lastReply, actions, metadata, extra, \
        push, content
        """

    init(_ columns: inout Columns) throws {
        let seq = columns.integer()
        let countedIndex = columns.integer()
        let timetoken = columns.timetoken()
        let id = MessageID(try columns.uuid("id"))
        let sender = columns.userID()
        let type = MessageType(rawValue: try columns.utf8("type"))
        let digest = columns.integer()
        let flags = columns.integer()
        let rev = columns.integer()
        let editedAt = columns.optionalDate()
        var attributes = MessageAttributes(customType: try columns.optionalUTF8("customType"))
        attributes.setFlags(bits: flags)
        attributes.mentions = try columns.optionalUTF8("mentions").map { try Mentions(stored: $0) }
        attributes.replyTo = columns.optionalMessageID()
        let thread = columns.optionalMessageID()
        let replyCount = columns.optionalInteger()
        let lastReply = columns.timetoken()
        let actions = try columns.optionalUTF8("actions").map { try [ActionSummary](stored: $0) }
        attributes.metadata = try columns.json("metadata")
        attributes.extra = try columns.json("extra")
        attributes.push = try columns.json("push")
        self.init(
            seq: seq, countedIndex: countedIndex, timetoken: timetoken, id: id, sender: sender, type: type,
            content: try columns.json("content"), attributes: attributes, rev: rev,
            editedAt: editedAt, digest: digest, thread: thread,
            replies: replyCount.map { ReplySummary(count: $0, lastReplyAt: lastReply) }, actions: actions ?? [])
    }
}

extension Parameters {
    mutating func add(_ row: MessageRow, in conversation: Int64) {
        add(conversation, row.seq, row.countedIndex, row.timetoken)
        add(row.id, row.sender)
        add(utf8: row.type.rawValue)
        add(row.digest)
        add(stateOf: row)
    }

    mutating func add(stateOf row: MessageRow) {
        add(row.attributes.flagBits, row.rev, row.editedAt)
        add(utf8: row.attributes.customType)
        add(utf8: row.attributes.mentions?.stored)
        add(row.attributes.replyTo, row.thread, row.replies?.count, row.replies?.lastReplyAt)
        add(utf8: row.actions.isEmpty ? nil : row.actions.stored)
        add(utf8: row.attributes.metadata?.text)
        add(utf8: row.attributes.extra?.text)
        add(utf8: row.attributes.push?.text)
        add(utf8: row.content?.text)
    }
}
