/// A user's own state in one conversation, with the revisions it was computed at.
///
/// A device that knows a newer sequence number, revision or user revision discards the summary or adds the difference.
public struct ReadSummary: Hashable, Sendable {
    /// The log that the sequence numbers belong to; a summary of another log is meaningless.
    public var epoch: Epoch
    /// The sequence number up to which nothing is unread; 0 for none.
    ///
    /// It is the highest of the user's read, join and cleared positions and the retention floor. Of two summaries, the
    /// higher value applies.
    public var readSeq: Seq
    /// The number of unread messages, without the user's own.
    public var unread: Int64
    /// The number of unread messages from other users that mention the user by name or mention everyone.
    public var mentions: Int64
    /// Whether the user marked the conversation as unread, regardless of the counts.
    public var isMarkedUnread: Bool
    /// Whether pushes are muted for the user; unread messages are counted nevertheless.
    public var isMuted: Bool
    /// The messages that the user wants pushed; `nil` if the user set no level for this conversation.
    public var notifications: NotificationLevel?
    /// Whether the user pinned the conversation in their list.
    public var isPinned: Bool
    /// The newest sequence number at the time the user removed the conversation from their list; 0 if they did not.
    ///
    /// The conversation returns with the first message after it that updates recents.
    public var removedSeq: Seq
    /// The newest sequence number that the user could see when this was computed; 0 for none.
    public var seq: Seq
    /// The counted index at ``seq``: the number of messages up to it that count as unread.
    public var countedIndex: Int64
    /// The conversation's newest revision when this was computed; 0 for none.
    public var rev: Int64
    /// The user revision when this was computed.
    ///
    /// It increases when the user reads, joins, leaves, mutes, pins, or removes a conversation from their list.
    public var userRev: Int64

    /// Creates a summary.
    public init(
        epoch: Epoch, readSeq: Seq, unread: Int64, mentions: Int64, isMarkedUnread: Bool, isMuted: Bool = false,
        notifications: NotificationLevel? = nil, isPinned: Bool = false, removedSeq: Seq = 0, seq: Seq,
        countedIndex: Int64,
        rev: Int64, userRev: Int64
    ) {
        self.epoch = epoch
        self.readSeq = readSeq
        self.unread = unread
        self.mentions = mentions
        self.isMarkedUnread = isMarkedUnread
        self.isMuted = isMuted
        self.notifications = notifications
        self.isPinned = isPinned
        self.removedSeq = removedSeq
        self.seq = seq
        self.countedIndex = countedIndex
        self.rev = rev
        self.userRev = userRev
    }
}
