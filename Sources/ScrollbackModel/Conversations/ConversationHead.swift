/// A conversation as one member sees it in a list: where its log stands, and their own state in it.
public struct ConversationHead: Hashable, Sendable {
    /// By the name the member knows it by: a direct conversation is named by the peer.
    public var conversation: ConversationID
    /// At most 128 bytes of UTF-8; absent where nobody gave it one.
    public var name: String?
    /// Where a picture of it is, at most 2,048 bytes of UTF-8.
    ///
    /// The server keeps what it was given and does not look whether it is a URL.
    public var avatar: String?
    package var state: LogHead
    /// Messages that count and lie above what the member read, their own apart; 0 in kinds without unread counts.
    public var unread: Int64
    /// Messages of others above what the member read that mention them, by name or because everyone is meant.
    public var mentions: Int64
    /// The newest place up to which nothing is unread for the member: read, joined after, cleared, or gone; 0 for none.
    public var readSeq: Seq
    /// The newest place of a direct conversation that the other person has read, as far as the member may know; 0 for none,
    /// and in other kinds.
    public var peerReadSeq: Seq
    /// The newest message the member may see; absent where there is none.
    public var lastMessage: Message?
    /// Whether the member wants no push of it; what is unread is counted all the same.
    public var isMuted: Bool
    /// Which of its messages the user wants pushed; absent where they set nothing there.
    public var notifications: NotificationLevel?
    /// Whether it stands before the others in the member's list, whatever its newest message.
    public var isPinned: Bool
    /// Whether the member marked it as unread by hand, whatever the counts say; the next read ends that.
    public var isMarkedUnread: Bool
    /// Where the conversation ended when the member took it out of their list; 0 where they did not.
    package var removedSeq: Seq
    /// Up to where the member's new devices load nothing by themselves; 0 where they may load all of it.
    package var roamSeq: Seq
    /// When it was last active, which the list is sorted by; absent where it has no place in the list.
    ///
    /// The time of ``lastMessage``, or of the newest message where the member cleared it.
    public var recentTime: Timetoken?
    /// Whether the member still is one; who left sees up to leaving.
    public var isMember: Bool
    /// Whether only moderators, owners and administrators may write there now.
    public var isFrozen: Bool
    /// For how long the member may not write there; absent where they may.
    public var mute: Mute?
    /// The commit that last touched the conversation when this was computed.
    package var moved: Int64
    /// The member's own change counter when this was computed.
    package var userRev: Int64
    /// What the reader deleted for themselves since the cursor this head was asked for with.
    package var hidden: [SeqRange]

    package init(
        conversation: ConversationID, name: String? = nil, avatar: String? = nil, state: LogHead, unread: Int64 = 0,
        mentions: Int64 = 0, readSeq: Seq = 0, lastMessage: Message? = nil, isMuted: Bool = false,
        notifications: NotificationLevel? = nil,
        isPinned: Bool = false, isMarkedUnread: Bool = false, removedSeq: Seq = 0, roamSeq: Seq = 0,
        recentTime: Timetoken? = nil, isMember: Bool = true, moved: Int64 = 0, userRev: Int64 = 0,
        hidden: [SeqRange] = [], isFrozen: Bool = false, mute: Mute? = nil, peerReadSeq: Seq = 0
    ) {
        self.conversation = conversation
        self.name = name
        self.avatar = avatar
        self.state = state
        self.unread = unread
        self.mentions = mentions
        self.readSeq = readSeq
        self.lastMessage = lastMessage
        self.isMuted = isMuted
        self.notifications = notifications
        self.isPinned = isPinned
        self.isMarkedUnread = isMarkedUnread
        self.removedSeq = removedSeq
        self.roamSeq = roamSeq
        self.recentTime = recentTime
        self.isMember = isMember
        self.moved = moved
        self.userRev = userRev
        self.hidden = hidden
        self.isFrozen = isFrozen
        self.mute = mute
        self.peerReadSeq = peerReadSeq
    }

    /// The newest place the member may see; 0 for an empty conversation.
    public var head: Seq { state.head }
}
