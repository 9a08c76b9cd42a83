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
    /// The newest message the member may see; absent where there is none.
    public var lastMessage: Message?
    /// Whether the member wants no push of it; what is unread is counted all the same.
    public var isMuted: Bool
    /// Whether it stands before the others in the member's list, whatever its newest message.
    public var isPinned: Bool
    /// Whether the member marked it as unread by hand, whatever the counts say; the next read ends that.
    public var isMarkedUnread: Bool
    /// Whether the member still is one; who left sees up to leaving.
    public var isMember: Bool
    /// Whether only moderators, owners and administrators may write there now.
    public var isFrozen: Bool
    /// For how long the member may not write there; absent where they may.
    public var mute: Mute?
    /// The member's own change counter when this was computed.
    package var userRev: Int64
    /// What the reader deleted for themselves since the cursor this head was asked for with.
    package var hidden: [SeqRange]

    package init(
        conversation: ConversationID, name: String? = nil, avatar: String? = nil, state: LogHead, unread: Int64 = 0,
        mentions: Int64 = 0, readSeq: Seq = 0, lastMessage: Message? = nil, isMuted: Bool = false,
        isPinned: Bool = false, isMarkedUnread: Bool = false, isMember: Bool = true, userRev: Int64 = 0,
        hidden: [SeqRange] = [], isFrozen: Bool = false, mute: Mute? = nil
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
        self.isPinned = isPinned
        self.isMarkedUnread = isMarkedUnread
        self.isMember = isMember
        self.userRev = userRev
        self.hidden = hidden
        self.isFrozen = isFrozen
        self.mute = mute
    }

    /// The newest place the member may see; 0 for an empty conversation.
    public var head: Seq { state.head }
}
