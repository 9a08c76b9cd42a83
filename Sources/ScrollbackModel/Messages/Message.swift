public import Foundation

/// A stored message in a conversation's log.
public struct Message: Hashable, Identifiable, Sendable {
    /// The ID under which the reader knows the conversation.
    ///
    /// A direct conversation is identified by the peer.
    public var conversation: ConversationID
    /// The sequence number in the log, dense from 1.
    public var seq: Seq
    /// The counted index: the number of messages up to this one that count as unread.
    public var countedIndex: Int64
    /// The ID, which the sender's device creates before the message is sent and which never changes.
    public var id: MessageID
    /// The time, which is unique in the conversation; messages are ordered by ``seq`` and not by time.
    public var timetoken: Timetoken
    /// The log that ``seq`` belongs to; sequence numbers of different logs can't be compared.
    public var epoch: Epoch
    /// The user of the token that sent the message; for an imported message, its original author.
    public var sender: UserID
    /// The content; `nil` if the message was recalled or deleted.
    public var content: MessageContent?
    /// The type of the content, which a recalled or deleted message keeps.
    public var type: MessageType
    /// The revision of the last change; 0 if the message was never changed.
    public var rev: Int64
    /// The attributes that accompany the content.
    public var attributes: MessageAttributes
    /// The date of the last edit; `nil` if the content was never edited.
    public var editedAt: Date?
    /// The first message of the thread in which this message is a reply; `nil` outside of threads.
    public var thread: MessageID?
    /// The summary of the message's replies, if it has any.
    public var replies: ReplySummary?
    /// The summaries of the message's actions, including reactions.
    public var actions: [ActionSummary]
    /// Whether the content, and `metadata` and `extra` if present, were encrypted with the app's key.
    ///
    /// Notices from the server, and messages sent without a key, are not encrypted.
    public var isEncrypted = false
    /// The reason why a part of the message could not be decrypted (`decryption-failed`); `nil` if there is none.
    ///
    /// Such parts stay encrypted. They are decrypted when the client is opened with the missing key.
    public var decryptionError: ChatError? {
        get { failure.error }
        set { failure = BoxedError(newValue) }
    }
    private var failure = BoxedError.none

    /// Creates a message.
    public init(
        conversation: ConversationID, seq: Seq, countedIndex: Int64, id: MessageID, timetoken: Timetoken, epoch: Epoch,
        sender: UserID, type: MessageType, content: MessageContent?, rev: Int64 = 0,
        attributes: MessageAttributes = .init(), editedAt: Date? = nil, thread: MessageID? = nil,
        replies: ReplySummary? = nil, actions: [ActionSummary] = []
    ) {
        self.conversation = conversation
        self.seq = seq
        self.countedIndex = countedIndex
        self.id = id
        self.timetoken = timetoken
        self.epoch = epoch
        self.sender = sender
        self.content = content
        self.type = type
        self.rev = rev
        self.attributes = attributes
        self.editedAt = editedAt
        self.thread = thread
        self.replies = replies
        self.actions = actions
    }

    /// The date when the server stored the message, in milliseconds; for an imported message, its original date.
    public var sentAt: Date { timetoken.date }

    /// Whether the message was recalled by its sender or deleted; a tombstone keeps its sequence number.
    public var isDeleted: Bool { content == nil }

    /// Whether the message counts as unread for everyone except its sender.
    ///
    /// It depends on the type, unless the sender turned it off.
    package var countsUnread: Bool { type.traits.restricted(by: attributes.traits).countsUnread }

    /// The text, if the content has one.
    public var text: String? { content?.text }
}

/// The attributes that can accompany any content.
public struct MessageAttributes: Hashable, Sendable {
    /// The users that the message mentions.
    public var mentions: Mentions?
    /// An application-defined JSON object of at most 32 KiB, preserved byte for byte.
    public var metadata: RawJSON?
    /// Application-defined JSON of at most 32 KiB, preserved byte for byte.
    public var extra: RawJSON?
    /// An application-defined name to filter by, 1...128 bytes of UTF-8.
    public var customType: String?
    /// The push options as a JSON object of at most 32 KiB.
    public var push: RawJSON?
    /// The push options that this version knows.
    public var pushOptions: PushOptions? { push.flatMap { try? PushOptions($0) } }
    /// The message that this one replies to, whether or not it exists.
    ///
    /// If it exists and the sender may see it, this message belongs to its thread: ``Message/thread``.
    public var replyTo: MessageID?
    /// The traits that the sender turned off for this message.
    public var traits: MessageTraits
    /// Whether a room streams the message when it has more messages than it can stream.
    public var priority: MessagePriority

    /// Creates attributes.
    ///
    /// The limits are checked when the message is sent: `invalid-parameter` or `too-large`, naming the attribute.
    public init(
        mentions: Mentions? = nil, metadata: RawJSON? = nil, extra: RawJSON? = nil, customType: String? = nil,
        push: RawJSON? = nil, replyTo: MessageID? = nil, traits: MessageTraits = .init(),
        priority: MessagePriority = .normal
    ) {
        self.mentions = mentions
        self.metadata = metadata
        self.extra = extra
        self.customType = customType
        self.push = push
        self.replyTo = replyTo
        self.traits = traits
        self.priority = priority
    }
}

extension MessageAttributes {
    /// Returns the text that the sender set for a notification to `user`.
    ///
    /// If the message mentions the user, the mention's push text takes precedence over the text of the push options.
    ///
    /// - Returns: `nil` if neither is set; the notification then shows the content.
    public func notificationText(for user: UserID) -> String? {
        let mention = mentions.flatMap { $0.includes(user) ? $0.pushText : nil }
        return mention ?? pushOptions?.text
    }
}

/// A message to send, identified by its ID through every retry.
public struct Submission: Hashable, Sendable {
    /// The ID, created once for each message.
    ///
    /// If the same ID is sent with anything else, the server answers `conflict`.
    public var id: MessageID
    /// The content, at most 128 KiB of JSON.
    public var content: MessageContent
    /// The attributes that accompany the content.
    public var attributes: MessageAttributes

    /// Creates a submission.
    public init(id: MessageID, content: MessageContent, attributes: MessageAttributes = .init()) {
        self.id = id
        self.content = content
        self.attributes = attributes
    }

    /// The traits of the content's type, without those that the sender turned off.
    package var traits: MessageTraits { content.type.traits.restricted(by: attributes.traits) }
}

/// The result of sending a message.
public struct SendResult: Hashable, Sendable {
    /// The outcome of a send.
    public enum Outcome: String, Sendable {
        /// The server stored the message durably.
        case committed
        /// The server had already stored the message; the result is that of the first attempt.
        case duplicate
        /// The server delivered the message to connected users and did not store it.
        case delivered
    }

    /// The outcome; in no case must the message be sent again.
    public var outcome: Outcome
    /// The ID of the message.
    public var id: MessageID
    /// The time that the server assigned; for a duplicate, the time of the first attempt.
    public var timetoken: Timetoken
    /// The position of the stored message; `nil` if it was not stored.
    public var position: Position?
    /// The first message of the thread in which the message is a reply.
    public var thread: MessageID?
    /// The stored or delivered content, if a moderation filter of the server changed it.
    ///
    /// It has the same type as the submission.
    public var content: RawJSON?

    /// A position in a log.
    public struct Position: Hashable, Sendable {
        /// The sequence number, 1 or above.
        public var seq: Seq
        /// The counted index: the number of messages up to this one that count as unread.
        public var countedIndex: Int64
        /// The log that the sequence number belongs to.
        public var epoch: Epoch

        /// Creates a position.
        public init(seq: Seq, countedIndex: Int64, epoch: Epoch) {
            self.seq = seq
            self.countedIndex = countedIndex
            self.epoch = epoch
        }
    }

    /// Creates a result.
    public init(
        outcome: Outcome, id: MessageID, timetoken: Timetoken, position: Position?, thread: MessageID? = nil,
        content: RawJSON? = nil
    ) {
        self.outcome = outcome
        self.id = id
        self.timetoken = timetoken
        self.position = position
        self.thread = thread
        self.content = content
    }
}

/// A message that is not stored and reaches only users who are connected at the moment.
public struct TransientMessage: Hashable, Identifiable, Sendable {
    /// The ID under which the reader knows the conversation.
    ///
    /// A direct conversation is identified by the peer.
    public var conversation: ConversationID
    /// The ID, which the sender's device creates; a retry has the same ID.
    public var id: MessageID
    /// The time when the server delivered the message; two messages can have the same time.
    public var timetoken: Timetoken
    /// The user of the token that sent the message.
    public var sender: UserID
    /// The content.
    public var content: MessageContent
    /// The attributes that accompany the content.
    public var attributes: MessageAttributes
    /// Whether the content, and `metadata` and `extra` if present, were encrypted with the app's key.
    public var isEncrypted = false
    /// The reason why a part of the message could not be decrypted (`decryption-failed`); such parts stay encrypted.
    public var decryptionError: ChatError? {
        get { failure.error }
        set { failure = BoxedError(newValue) }
    }
    private var failure = BoxedError.none

    /// Creates a transient message.
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
