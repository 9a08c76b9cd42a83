/// A conversation in a member's list: the state of its log and the member's own state.
public struct ConversationHead: Hashable, Sendable {
    /// The ID under which the member knows the conversation.
    ///
    /// A direct conversation is identified by the peer.
    public var conversation: ConversationID
    /// The display name, at most 128 bytes of UTF-8; `nil` if it has none.
    public var name: String?
    /// The URL of the picture, at most 2,048 bytes of UTF-8.
    ///
    /// The server stores the text as it is. It does not check that it is a URL.
    public var avatar: String?
    package var state: LogHead
    /// The number of unread messages, without the member's own.
    ///
    /// 0 in kinds of conversations without unread counts.
    public var unread: Int64
    /// The number of unread messages from other users that mention the member by name or mention everyone.
    public var mentions: Int64
    /// The sequence number up to which nothing is unread for the member; 0 for none.
    ///
    /// It is the highest of the member's read, join and cleared positions and the retention floor.
    public var readSeq: Seq
    /// The newest sequence number that the peer of a direct conversation has read, if the member may see it.
    ///
    /// 0 for none, and in other kinds of conversations.
    public var peerReadSeq: Seq
    /// The sequence number through which the peer's devices have stored a direct conversation, if the member may see
    /// it.
    ///
    /// It is at least ``peerReadSeq``. 0 for none, and in other kinds of conversations.
    public var peerDeliveredSeq: Seq
    /// Whether the member's devices report which messages they have stored.
    package var hasDeliveryReceipts: Bool
    /// The newest message that the member may see; `nil` if none exists.
    public var lastMessage: Message?
    /// Whether pushes are muted for the member; unread messages are counted nevertheless.
    public var isMuted: Bool
    /// The messages that the user wants pushed; `nil` if the user set no level for this conversation.
    public var notifications: NotificationLevel?
    /// Whether the member pinned the conversation, so that it comes before the others in the list.
    public var isPinned: Bool
    /// Whether the member marked the conversation as unread, regardless of the counts.
    ///
    /// The next read clears the marker.
    public var isMarkedUnread: Bool
    /// The newest sequence number at the time the member removed the conversation from their list; 0 if they did not.
    package var removedSeq: Seq
    /// The sequence number up to which new devices of the member load nothing automatically; 0 for no such limit.
    package var newDeviceFloor: Seq
    /// The time of the last activity, by which the list is sorted; `nil` if the conversation is not in the list.
    ///
    /// It is the time of ``lastMessage``, or of the newest message if the member cleared the conversation.
    public var recentTime: Timetoken?
    /// Whether the user is still a member.
    ///
    /// A former member sees the history up to the time they left.
    public var isMember: Bool
    /// Whether only moderators, owners and administrators may write at the moment.
    public var isFrozen: Bool
    /// The member's mute in this conversation; `nil` if they may write.
    public var mute: Mute?
    /// The last commit that changed the conversation when this head was computed.
    package var lastCommit: Int64
    /// The member's user revision when this head was computed.
    package var userRev: Int64
    /// The messages that the reader deleted for themselves since the cursor of the request.
    package var hidden: [SeqRange]

    package init(
        conversation: ConversationID, name: String? = nil, avatar: String? = nil, state: LogHead, unread: Int64 = 0,
        mentions: Int64 = 0, readSeq: Seq = 0, lastMessage: Message? = nil, isMuted: Bool = false,
        notifications: NotificationLevel? = nil,
        isPinned: Bool = false, isMarkedUnread: Bool = false, removedSeq: Seq = 0, newDeviceFloor: Seq = 0,
        recentTime: Timetoken? = nil, isMember: Bool = true, lastCommit: Int64 = 0, userRev: Int64 = 0,
        hidden: [SeqRange] = [], isFrozen: Bool = false, mute: Mute? = nil, peerReadSeq: Seq = 0,
        peerDeliveredSeq: Seq = 0, hasDeliveryReceipts: Bool = false
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
        self.newDeviceFloor = newDeviceFloor
        self.recentTime = recentTime
        self.isMember = isMember
        self.lastCommit = lastCommit
        self.userRev = userRev
        self.hidden = hidden
        self.isFrozen = isFrozen
        self.mute = mute
        self.peerReadSeq = peerReadSeq
        self.peerDeliveredSeq = max(peerReadSeq, peerDeliveredSeq)
        self.hasDeliveryReceipts = hasDeliveryReceipts
    }

    /// The newest sequence number that the member may see; 0 for an empty conversation.
    public var head: Seq { state.head }
}
