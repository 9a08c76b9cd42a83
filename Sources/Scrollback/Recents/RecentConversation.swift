public import ScrollbackModel

/// A conversation in the list of recents.
public struct RecentConversation: Hashable, Identifiable, Sendable {
    /// The name the user knows it by: a direct conversation is named by the peer.
    public let id: ConversationID
    /// At most 128 bytes of UTF-8; absent where nobody gave it one, as in most direct conversations.
    public var name: String?
    /// Where a picture of it is, as it was given to the server: at most 2,048 bytes of UTF-8.
    public var avatar: String?
    /// The newest message this device has of it; absent where it has none yet, or where the conversation was put into the
    /// list by hand without it.
    public var lastMessage: Message?
    /// Messages of others that count and were not read, on any of the user's devices.
    public var unread: Int64
    /// Messages of others that were not read and mention the user, by name or because everyone is meant.
    public var mentions: Int64
    /// Whether the user wants no push of it; what is unread is counted all the same.
    public var isMuted: Bool
    /// Which of its messages the user wants pushed; absent where they set nothing there.
    public var notifications: NotificationLevel?
    /// Whether it stands before those that are not pinned.
    public var isPinned: Bool
    /// Whether the user marked it as unread by hand, whatever the counts say; the next read ends that.
    public var isMarkedUnread: Bool
    /// The newest place of a direct conversation that the other person has read, as far as this user may know; 0 for none,
    /// and in other kinds.
    public var peerReadSeq: Int64
    /// Whether only moderators, owners and administrators may write there now.
    public var isFrozen: Bool
    /// For how long this user may not write there, which ends by itself (``Mute/holds(at:)``); absent where they may.
    public var mute: Mute?
    /// What was typed there and not sent.
    public var draft: Draft?
    /// What the app keeps with the entry on this device alone, a JSON object.
    public var localExtension: RawJSON?
    /// Where it stands in the list.
    package var place: Place

    package struct Place: Hashable, Sendable {
        var isPinned: Bool
        var sortTime: Int64
        var number: Int64
    }
}

/// Which conversations of the list are wanted; all of what is set must hold.
public struct RecentsFilter: Hashable, Sendable {
    /// Only of these kinds; absent for any.
    public var kinds: Set<ConversationKind>?
    /// Only muted ones, or only those that are not; absent for both.
    public var isMuted: Bool?
    /// Only those with something to read, or marked as unread.
    public var isUnread: Bool
    /// Types of messages that ``RecentConversation/lastMessage`` passes over: the newest of another type is shown, or none.
    ///
    /// Which conversations are listed, and in which order, does not change (rows 187 to 189).
    public var excludedLastTypes: Set<MessageType>

    /// A filter with all that is to hold.
    public init(
        kinds: Set<ConversationKind>? = nil, isMuted: Bool? = nil, isUnread: Bool = false,
        excludedLastTypes: Set<MessageType> = []
    ) {
        self.kinds = kinds
        self.isMuted = isMuted
        self.isUnread = isUnread
        self.excludedLastTypes = excludedLastTypes
    }

    /// Every conversation of the list.
    public static let all = RecentsFilter()
}
