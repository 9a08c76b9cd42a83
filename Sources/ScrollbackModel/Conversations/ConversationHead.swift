/// A conversation as one member sees it in a list: where its log stands, and their own state in it.
public struct ConversationHead: Hashable, Sendable {
    public var conversation: ConversationID
    public var name: String?
    public var avatar: String?
    package var state: LogHead
    /// Messages that count and lie above what the member read.
    public var unread: Int64
    public var mentions: Int64
    public var readSeq: Seq
    public var lastMessage: Message?
    public var isMuted: Bool
    public var isPinned: Bool
    public var isMarkedUnread: Bool
    /// Whether the member still is one; who left sees up to leaving.
    public var isMember: Bool
    /// The member's own change counter when this was computed.
    package var userRev: Int64

    package init(
        conversation: ConversationID, name: String? = nil, avatar: String? = nil, state: LogHead, unread: Int64 = 0,
        mentions: Int64 = 0, readSeq: Seq = 0, lastMessage: Message? = nil, isMuted: Bool = false,
        isPinned: Bool = false, isMarkedUnread: Bool = false, isMember: Bool = true, userRev: Int64 = 0
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
    }

    /// The newest place the member may see; 0 for an empty conversation.
    public var head: Seq { state.head }
}
