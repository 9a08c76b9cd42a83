public import Foundation

/// One stored message of a conversation's log.
public struct Message: Hashable, Identifiable, Sendable {
    public var conversation: ConversationID
    /// Its place in the log, dense from 1.
    public var seq: Seq
    /// How many messages up to this one count as unread for somebody who read nothing.
    public var n: Int64
    public var id: MessageID
    public var timetoken: Timetoken
    public var epoch: Epoch
    public var sender: UserID
    /// What it says; absent once it was recalled or deleted.
    public var content: MessageContent?
    /// The type of its content, which a recalled or deleted message keeps.
    public var type: MessageType
    /// The change that last touched it; 0 while it is as it was sent.
    public var rev: Int64
    public var attributes: MessageAttributes
    public var editedAt: Date?

    public init(
        conversation: ConversationID, seq: Seq, n: Int64, id: MessageID, timetoken: Timetoken, epoch: Epoch,
        sender: UserID, type: MessageType, content: MessageContent?, rev: Int64 = 0,
        attributes: MessageAttributes = .init(), editedAt: Date? = nil
    ) {
        self.conversation = conversation
        self.seq = seq
        self.n = n
        self.id = id
        self.timetoken = timetoken
        self.epoch = epoch
        self.sender = sender
        self.content = content
        self.type = type
        self.rev = rev
        self.attributes = attributes
        self.editedAt = editedAt
    }

    /// When the server stored it (an import: when it was said), in milliseconds.
    public var sentAt: Date { timetoken.date }

    /// Whether it was recalled by its sender or deleted; the place stays as a stub.
    public var isDeleted: Bool { content == nil }

    /// The text, where the content has one.
    public var text: String? { content?.text }
}

/// What may accompany any content.
public struct MessageAttributes: Hashable, Sendable {
    public var mentions: Mentions?
    /// The application's own, a JSON object that travels byte for byte.
    public var metadata: RawJSON?
    /// The application's own, any JSON that travels byte for byte.
    public var extra: RawJSON?
    /// A free name to filter by.
    public var customType: String?
    /// What a push about it should say and how it should look.
    public var push: RawJSON?
    public var replyTo: MessageID?
    /// What the sender switched off for this one message.
    public var traits: MessageTraits

    public init(
        mentions: Mentions? = nil, metadata: RawJSON? = nil, extra: RawJSON? = nil, customType: String? = nil,
        push: RawJSON? = nil, replyTo: MessageID? = nil, traits: MessageTraits = .init()
    ) {
        self.mentions = mentions
        self.metadata = metadata
        self.extra = extra
        self.customType = customType
        self.push = push
        self.replyTo = replyTo
        self.traits = traits
    }
}

/// What a sender hands in: the same id means the same message, through every retry.
public struct Submission: Hashable, Sendable {
    public var id: MessageID
    public var content: MessageContent
    public var attributes: MessageAttributes

    public init(id: MessageID, content: MessageContent, attributes: MessageAttributes = .init()) {
        self.id = id
        self.content = content
        self.attributes = attributes
    }

    /// The traits of its type, less what its sender switched off.
    package var traits: MessageTraits { content.type.traits.less(attributes.traits) }
}

/// What became of a send.
public struct SendResult: Hashable, Sendable {
    public enum Outcome: String, Sendable {
        /// On disk, at its place.
        case committed
        /// It already was: this is the answer the first attempt got.
        case duplicate
        /// Handed to whoever is connected; not stored.
        case delivered
    }

    public var outcome: Outcome
    public var id: MessageID
    public var timetoken: Timetoken
    /// Where it was stored; absent for what is not stored.
    public var position: Position?

    /// A place in a log.
    public struct Position: Hashable, Sendable {
        public var seq: Seq
        public var n: Int64
        public var epoch: Epoch

        public init(seq: Seq, n: Int64, epoch: Epoch) {
            self.seq = seq
            self.n = n
            self.epoch = epoch
        }
    }

    public init(outcome: Outcome, id: MessageID, timetoken: Timetoken, position: Position?) {
        self.outcome = outcome
        self.id = id
        self.timetoken = timetoken
        self.position = position
    }
}

/// A message that is not stored: it reaches whoever is connected now.
public struct TransientMessage: Hashable, Identifiable, Sendable {
    public var conversation: ConversationID
    public var id: MessageID
    public var timetoken: Timetoken
    public var sender: UserID
    public var content: MessageContent
    public var attributes: MessageAttributes

    public init(
        conversation: ConversationID, id: MessageID, timetoken: Timetoken, sender: UserID, content: MessageContent,
        attributes: MessageAttributes
    ) {
        self.conversation = conversation
        self.id = id
        self.timetoken = timetoken
        self.sender = sender
        self.content = content
        self.attributes = attributes
    }
}
