/// The settings of a conversation, as a request to create or change it gives them.
///
/// Settings that are not given keep their value, and have their default in a new conversation.
public struct ConversationSettings: Hashable, Sendable {
    /// A change of a setting that can be unset.
    public typealias Change = MessageEdit.Change

    /// The display name, at most 128 bytes of UTF-8 without control characters; an empty text removes it.
    ///
    /// Direct conversations have no name.
    public var name: String?
    /// The `http` or `https` URL of the picture, at most 2,048 bytes of UTF-8; an empty text removes it.
    ///
    /// Direct conversations have no picture.
    public var avatar: String?
    /// An application-defined JSON object of at most 32 KiB, preserved byte for byte.
    public var metadata: RawJSON?
    /// Which messages a new member can see; by default those sent after they joined.
    public var visibility: HistoryVisibility?
    /// Whether a channel of a community has members of its own; only for channels.
    public var isPrivate: Bool?
    /// Whether only moderators, owners and administrators can write; not for direct conversations.
    ///
    /// In a community this covers all of its channels.
    public var isFrozen: Bool?
    /// How long messages are kept; without it, the server's setting applies.
    public var retention: Change<RetentionPolicy>
    /// The maximum number of a room's subscribers, 1...1,000,000; without it, there is no limit.
    public var capacity: Change<Int>
    /// The first members besides the user who creates the conversation, at most 1,000.
    ///
    /// Only for a new conversation with a list of members: a group, a community or a private channel.
    public var members: [UserID]

    /// The allowed values of ``capacity``.
    package static let capacities = 1...1_000_000
    /// The maximum number of ``members``.
    package static let maximumMembers = 1000

    /// Creates settings.
    public init(
        name: String? = nil, avatar: String? = nil, metadata: RawJSON? = nil, visibility: HistoryVisibility? = nil,
        isPrivate: Bool? = nil, members: [UserID] = [], retention: Change<RetentionPolicy> = .keep,
        isFrozen: Bool? = nil, capacity: Change<Int> = .keep
    ) {
        self.name = name
        self.avatar = avatar
        self.metadata = metadata
        self.visibility = visibility
        self.isPrivate = isPrivate
        self.members = members
        self.retention = retention
        self.isFrozen = isFrozen
        self.capacity = capacity
    }
}
