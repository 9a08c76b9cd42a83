/// A thread of a conversation: a message with replies, and the user's own state in it.
public struct MessageThread: Hashable, Sendable, Identifiable {
    /// The thread's first message, whose ``Message/replies`` have the number of replies and the time of the newest one.
    public var parent: Message
    /// The newest reply, or `nil` if the user can't see it.
    public var lastReply: Message?
    /// The user's own state in the thread.
    public var state: ThreadState

    /// Creates a thread.
    public init(parent: Message, lastReply: Message?, state: ThreadState) {
        self.parent = parent
        self.lastReply = lastReply
        self.state = state
    }

    /// The ID of the thread's first message.
    public var id: MessageID { parent.id }
}

/// A user's own state in one thread.
public struct ThreadState: Hashable, Sendable {
    /// The ID of the thread's first message.
    public var thread: MessageID
    /// Whether the user follows the thread.
    public var isFollowed: Bool
    /// The sequence number up to which no reply is unread; 0 for none.
    ///
    /// It is the higher one of the conversation's read marker and the user's read position in the thread.
    public var readSeq: Seq
    /// The number of unread replies, without the user's own.
    public var unread: Int64
    /// The number of unread replies from other users that mention the user by name or mention everyone.
    ///
    /// The server examines the newest 500 unread mentions of the user in the conversation, and as many of everyone.
    public var mentions: Int64
    /// The user revision of the user's last change in the thread; 0 for none.
    public var userRev: Int64

    /// Creates a state.
    public init(
        thread: MessageID, isFollowed: Bool, readSeq: Seq, unread: Int64, mentions: Int64, userRev: Int64 = 0
    ) {
        self.thread = thread
        self.isFollowed = isFollowed
        self.readSeq = readSeq
        self.unread = unread
        self.mentions = mentions
        self.userRev = userRev
    }
}

/// A change of a user's own state in a thread; `nil` values don't change.
package struct ThreadChange: Hashable, Sendable {
    /// Whether the user follows the thread.
    package var isFollowed: Bool?
    /// The position up to which the user read the thread.
    package var read: EpochPosition?

    package init(isFollowed: Bool? = nil, read: EpochPosition? = nil) {
        self.isFollowed = isFollowed
        self.read = read
    }
}
