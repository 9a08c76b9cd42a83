public import Foundation

/// One stored message of a conversation's log.
public struct Message: Hashable, Identifiable, Sendable {
    /// By the name the reader knows it by: a direct conversation is named by the peer.
    public var conversation: ConversationID
    /// Its place in the log, dense from 1.
    public var seq: Seq
    /// How many messages up to this one count as unread for somebody who read nothing.
    public var n: Int64
    /// Given by the sender's device; the same message has it before it is sent and ever after.
    public var id: MessageID
    /// Its time, which no other message of the conversation has; order is by ``seq`` all the same.
    public var timetoken: Timetoken
    /// The log its place is in; places of another one can't be compared with it.
    public var epoch: Epoch
    /// Whose token sent it; of an import, who said it.
    public var sender: UserID
    /// What it says; absent once it was recalled or deleted.
    public var content: MessageContent?
    /// The type of its content, which a recalled or deleted message keeps.
    public var type: MessageType
    /// The change that last touched it; 0 while it is as it was sent.
    public var rev: Int64
    /// What accompanies the content.
    public var attributes: MessageAttributes
    /// When its content was last changed; absent while it is as it was sent.
    public var editedAt: Date?
    /// The message at the beginning of the thread this one is a reply in; absent outside of threads.
    public var thread: MessageID?
    /// What its own replies come to, where there are any.
    public var replies: ReplySummary?
    /// What its actions come to, reactions among them.
    public var actions: [ActionSummary]
    /// Whether its content, and its `metadata` and `extra` where it has them, came encrypted by a key of the app's.
    ///
    /// A server's notices never are, nor what was sent without a key.
    public var isEncrypted = false
    /// Why something of it can't be read here, `decryption-failed`; what can't is as it came.
    ///
    /// It is read once the client is opened with the key that is missing. Absent where everything is read.
    public var decryptionError: ChatError? {
        get { failure.error }
        set { failure = RareError(newValue) }
    }
    private var failure = RareError.none

    /// A message with all that is known of it.
    public init(
        conversation: ConversationID, seq: Seq, n: Int64, id: MessageID, timetoken: Timetoken, epoch: Epoch,
        sender: UserID, type: MessageType, content: MessageContent?, rev: Int64 = 0,
        attributes: MessageAttributes = .init(), editedAt: Date? = nil, thread: MessageID? = nil,
        replies: ReplySummary? = nil, actions: [ActionSummary] = []
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
        self.thread = thread
        self.replies = replies
        self.actions = actions
    }

    /// When the server stored it (an import: when it was said), in milliseconds.
    public var sentAt: Date { timetoken.date }

    /// Whether it was recalled by its sender or deleted; the place stays as a stub.
    public var isDeleted: Bool { content == nil }

    /// Whether it counts as unread for everybody but its sender: by its type, unless its sender switched that off, and
    /// until it is recalled.
    package var countsUnread: Bool { type.traits.less(attributes.traits).countsUnread }

    /// The text, where the content has one.
    public var text: String? { content?.text }
}

/// What may accompany any content.
public struct MessageAttributes: Hashable, Sendable {
    /// Whom it calls by name.
    public var mentions: Mentions?
    /// The application's own, a JSON object of at most 32 KiB that travels byte for byte.
    public var metadata: RawJSON?
    /// The application's own, any JSON of at most 32 KiB, which travels byte for byte.
    public var extra: RawJSON?
    /// A free name to filter by, 1...128 bytes of UTF-8.
    public var customType: String?
    /// What a push about it should say and how it should look, a JSON object of at most 32 KiB.
    public var push: RawJSON?
    /// What a push about it should say, as far as this version knows it.
    public var pushOptions: PushOptions? { push.flatMap { try? PushOptions($0) } }
    /// The message it answers, whether or not that is there.
    ///
    /// Where it is there, and its sender may see it, the answer is in its thread: ``Message/thread``.
    public var replyTo: MessageID?
    /// What the sender switched off for this one message.
    public var traits: MessageTraits
    /// Whether a room streams it when there is more than it can stream.
    public var priority: MessagePriority

    /// Attributes of what is given.
    ///
    /// Their limits are checked when the message is sent: `invalid-parameter` or `too-large`, naming the attribute.
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
    /// What its sender wants a notification of it to say to somebody: the mention's text to whom it calls by name, which goes
    /// before every other, to others the push's.
    ///
    /// - Returns: nothing where neither was set: then it says what its content does.
    public func notificationText(for user: UserID) -> String? {
        let mention = mentions.flatMap { $0.includes(user) ? $0.pushText : nil }
        return mention ?? pushOptions?.text
    }
}

/// What a sender hands in: the same id means the same message, through every retry.
public struct Submission: Hashable, Sendable {
    /// Made once for each message; with anything else under the same id the server answers `conflict`.
    public var id: MessageID
    /// What the message says, at most 128 KiB of JSON.
    public var content: MessageContent
    /// What accompanies the content.
    public var attributes: MessageAttributes

    /// A submission with all that belongs to it.
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
    /// What the server did with it.
    public enum Outcome: String, Sendable {
        /// On disk, at its place.
        case committed
        /// It already was: this is the answer the first attempt got.
        case duplicate
        /// Handed to whoever is connected; not stored.
        case delivered
    }

    /// Which of the three it was; whichever it is, there is no need to send it again.
    public var outcome: Outcome
    /// The id it was sent with.
    public var id: MessageID
    /// The time it was given; a duplicate has that of the first attempt.
    public var timetoken: Timetoken
    /// Where it was stored; absent for what is not stored.
    public var position: Position?
    /// The message at the beginning of the thread it is a reply in.
    public var thread: MessageID?
    /// What was stored, or passed on, where that is not what was sent: the server's filter replaced words.
    ///
    /// Its type is that of the submission.
    public var content: RawJSON?

    /// A place in a log.
    public struct Position: Hashable, Sendable {
        /// The place, 1 or above.
        public var seq: Seq
        /// The running number there: how many messages up to it count as unread for somebody who read nothing.
        public var n: Int64
        /// The log the place is in.
        public var epoch: Epoch

        /// A place with all that belongs to it.
        public init(seq: Seq, n: Int64, epoch: Epoch) {
            self.seq = seq
            self.n = n
            self.epoch = epoch
        }
    }

    /// A result with all that belongs to it.
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

/// A message that is not stored: it reaches whoever is connected now.
public struct TransientMessage: Hashable, Identifiable, Sendable {
    /// By the name the reader knows it by: a direct conversation is named by the peer.
    public var conversation: ConversationID
    /// Given by the sender's device; one that comes again is the same message, sent once more.
    public var id: MessageID
    /// When the server passed it on; two of them may have the same time.
    public var timetoken: Timetoken
    /// Whose token sent it.
    public var sender: UserID
    /// What it says.
    public var content: MessageContent
    /// What accompanies the content.
    public var attributes: MessageAttributes
    /// Whether its content, and its `metadata` and `extra` where it has them, came encrypted by a key of the app's.
    public var isEncrypted = false
    /// Why something of it can't be read here, `decryption-failed`; what can't is as it came.
    public var decryptionError: ChatError? {
        get { failure.error }
        set { failure = RareError(newValue) }
    }
    private var failure = RareError.none

    /// A message with all that is known of it.
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
