public import ScrollbackModel

/// An entry in the list of recent conversations.
public struct RecentConversation: Hashable, Identifiable, Sendable {
    /// The conversation's ID from the user's point of view; a direct conversation is identified by the peer.
    public let id: ConversationID
    /// The name, at most 128 bytes of UTF-8; `nil` if it has none, as most direct conversations.
    public var name: String?
    /// The URL of the avatar as it was set on the server, at most 2,048 bytes of UTF-8.
    public var avatar: String?
    /// The newest message on this device; `nil` if there is none, or if the user added the conversation without showing
    /// it.
    public var lastMessage: Message?
    /// The number of other users' messages that count as unread and were not read on any of the user's devices.
    public var unread: Int64
    /// The number of other users' unread messages that mention the user or everyone.
    public var mentions: Int64
    /// Whether the user muted the conversation, so that it causes no pushes.
    ///
    /// Unread messages are still counted.
    public var isMuted: Bool
    /// Which messages the user wants pushed; `nil` for the user's default.
    public var notifications: NotificationLevel?
    /// Whether the entry is pinned to the top of the list.
    public var isPinned: Bool
    /// Whether the user marked the conversation as unread, which ends with the next read.
    public var isMarkedUnread: Bool
    /// The sequence number up to which the peer of a direct conversation has read, as far as the user may know.
    ///
    /// It is 0 if it is unknown, and for other kinds.
    public var peerReadSeq: Int64
    /// The sequence number through which the devices of the peer of a direct conversation have received the messages.
    ///
    /// It is at least ``peerReadSeq``. It is 0 if it is unknown, and for other kinds.
    public var peerDeliveredSeq: Int64
    /// Whether only moderators, owners and administrators may currently write.
    public var isFrozen: Bool
    /// The user's mute, which expires automatically (``Mute/isActive(at:)``); `nil` if the user may write.
    public var mute: Mute?
    /// The unsent draft.
    public var draft: Draft?
    /// The app-defined data of the entry on this device, a JSON object.
    public var localExtension: RawJSON?
    /// The entry's position in the list.
    package var place: Place

    package struct Place: Hashable, Sendable {
        var isPinned: Bool
        var sortTime: Int64
        var number: Int64
    }
}

/// A filter for the list of recent conversations; all conditions must be met.
public struct RecentsFilter: Hashable, Sendable {
    /// The kinds to return; `nil` for all kinds.
    public var kinds: Set<ConversationKind>?
    /// Whether to return only muted or only unmuted conversations; `nil` for both.
    public var isMuted: Bool?
    /// Whether to return only conversations that have unread messages or are marked as unread.
    public var isUnread: Bool
    /// The message types that ``RecentConversation/lastMessage`` skips in favor of the newest message of another type.
    ///
    /// The filter does not affect which conversations are listed, or their order.
    public var excludedLastTypes: Set<MessageType>

    /// Creates a filter with the given conditions.
    public init(
        kinds: Set<ConversationKind>? = nil, isMuted: Bool? = nil, isUnread: Bool = false,
        excludedLastTypes: Set<MessageType> = []
    ) {
        self.kinds = kinds
        self.isMuted = isMuted
        self.isUnread = isUnread
        self.excludedLastTypes = excludedLastTypes
    }

    /// A filter that returns all listed conversations.
    public static let all = RecentsFilter()
}
