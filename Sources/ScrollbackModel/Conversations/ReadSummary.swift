/// Somebody's own state in one conversation, above all what they have read, and the place, change and own change it was
/// computed at: a device that knows of later ones drops it, or adds the difference.
public struct ReadSummary: Hashable, Sendable {
    /// The log that the places are of; a summary of another one means nothing.
    public var epoch: Epoch
    /// The newest place up to which nothing is unread: read, joined after, cleared, or gone; 0 for none.
    ///
    /// Of two summaries the higher one holds.
    public var readSeq: Seq
    /// Messages that count above what was read, the user's own apart.
    public var unread: Int64
    /// Messages of others above what was read that mention the user, by name or because everyone is meant.
    public var mentions: Int64
    /// Whether the conversation was marked as unread by hand, whatever the counts say.
    public var isMarkedUnread: Bool
    /// Whether the user wants no push of it; what is unread is counted all the same.
    public var isMuted: Bool
    /// Which of its messages the user wants pushed; absent where they set nothing there.
    public var notifications: NotificationLevel?
    /// Whether it stands before the others in the user's list.
    public var isPinned: Bool
    /// Where the conversation ended when the user took it out of their list; 0 where they did not.
    ///
    /// It comes back with the first message above that the list does not pass over.
    public var removedSeq: Seq
    /// The newest place the user could see when this was computed; 0 for none.
    public var seq: Seq
    /// The running number at ``seq``: how many messages up to it count as unread for somebody who read nothing.
    public var n: Int64
    /// The conversation's newest change when this was computed; 0 for none.
    public var rev: Int64
    /// The user's own change counter when this was computed: it rises when they read, join, leave, mute, pin or take out
    /// of their list.
    public var userRev: Int64

    /// A summary with all that is known of it.
    public init(
        epoch: Epoch, readSeq: Seq, unread: Int64, mentions: Int64, isMarkedUnread: Bool, isMuted: Bool = false,
        notifications: NotificationLevel? = nil, isPinned: Bool = false, removedSeq: Seq = 0, seq: Seq, n: Int64,
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
        self.n = n
        self.rev = rev
        self.userRev = userRev
    }
}
