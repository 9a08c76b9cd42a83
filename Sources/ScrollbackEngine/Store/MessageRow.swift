package import Foundation
package import ScrollbackModel

/// A stored message.
package struct MessageRow: Hashable, Sendable {
    package var seq: Seq
    package var countedIndex: Int64
    package var timetoken: Timetoken
    package var id: MessageID
    package var sender: UserID
    package var type: MessageType
    package var content: RawJSON?
    package var attributes: MessageAttributes
    package var rev: Int64
    package var editedAt: Date?
    /// A digest of the submission, which distinguishes a retry from another message with the same ID.
    package var digest: Int64

    /// The first message of the thread that this message is a reply in.
    package var thread: MessageID?
    package var replies: ReplySummary?
    package var actions: [ActionSummary]

    package init(
        seq: Seq, countedIndex: Int64, timetoken: Timetoken, id: MessageID, sender: UserID, type: MessageType,
        content: RawJSON?,
        attributes: MessageAttributes, rev: Int64 = 0, editedAt: Date? = nil, digest: Int64, thread: MessageID? = nil,
        replies: ReplySummary? = nil, actions: [ActionSummary] = []
    ) {
        self.seq = seq
        self.countedIndex = countedIndex
        self.timetoken = timetoken
        self.id = id
        self.sender = sender
        self.type = type
        self.content = content
        self.attributes = attributes
        self.rev = rev
        self.editedAt = editedAt
        self.digest = digest
        self.thread = thread
        self.replies = replies
        self.actions = actions
    }

    /// Whether the message was deleted, so that only a tombstone is left.
    package var isDeleted: Bool { content == nil }

    /// The message's traits: those of its type, without those that were turned off.
    package var traits: MessageTraits { type.traits.restricted(by: attributes.traits) }

    package func message(in conversation: ConversationID, epoch: Epoch) -> Message {
        Message(
            conversation: conversation, seq: seq, countedIndex: countedIndex, id: id, timetoken: timetoken,
            epoch: epoch, sender: sender,
            type: type, content: content.map { MessageContent(known: type, json: $0) }, rev: rev,
            attributes: attributes, editedAt: editedAt, thread: thread, replies: replies, actions: actions)
    }
}

/// The key of a message, which outlives its row so that retries are recognized.
package struct KeyRow: Hashable, Sendable {
    package var id: MessageID
    package var sender: UserID
    package var digest: Int64
    package var seq: Seq
    package var countedIndex: Int64
    package var timetoken: Timetoken
    /// The thread of a message that still exists; not stored with the key.
    package var thread: MessageID?

    package init(_ message: MessageRow) {
        self.init(
            id: message.id, sender: message.sender, digest: message.digest, seq: message.seq,
            countedIndex: message.countedIndex,
            timetoken: message.timetoken)
        thread = message.thread
    }

    package init(id: MessageID, sender: UserID, digest: Int64, seq: Seq, countedIndex: Int64, timetoken: Timetoken) {
        self.id = id
        self.sender = sender
        self.digest = digest
        self.seq = seq
        self.countedIndex = countedIndex
        self.timetoken = timetoken
    }
}

/// The position of a message in its log.
package struct PositionRow: Hashable, Sendable {
    package var seq: Seq
    package var countedIndex: Int64
    package var timetoken: Timetoken

    package init(seq: Seq, countedIndex: Int64, timetoken: Timetoken) {
        self.seq = seq
        self.countedIndex = countedIndex
        self.timetoken = timetoken
    }
}

/// A stored action on the message with the same sequence number.
package struct ActionRow: Hashable, Sendable {
    package var seq: Seq
    package var timetoken: Timetoken
    package var sender: UserID
    package var type: String
    package var value: String

    package init(seq: Seq, timetoken: Timetoken, sender: UserID, type: String, value: String) {
        self.seq = seq
        self.timetoken = timetoken
        self.sender = sender
        self.type = type
        self.value = value
    }
}
