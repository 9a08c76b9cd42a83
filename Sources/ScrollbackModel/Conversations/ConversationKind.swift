/// The five kinds of conversations.
public enum ConversationKind: String, CaseIterable, Codable, Sendable {
    /// A conversation of two users, or of one user with themselves.
    case direct
    /// A conversation with a list of members.
    case group
    /// A channel of a community, which can have a hundred thousand members.
    case community
    /// A conversation whose members are its current subscribers.
    case room
    /// A conversation with one receiver, to which the server sends.
    case system

    /// The properties of this kind.
    ///
    /// Rules about members, replay, recents, streaming and push defaults read them here.
    public var traits: ConversationTraits { ConversationTraits.of(self) }
}

/// The properties in which the kinds of conversations differ.
///
/// Rules about members, replay, recents, streaming and push defaults read this table. The server's permissions have the
/// required roles. Rules for a single kind, such as the capacity of rooms, compare the kind.
public struct ConversationTraits: Hashable, Sendable {
    /// The place where a conversation's members are recorded.
    public enum Membership: Hashable, Sendable {
        /// The conversation's ID names them.
        case named
        /// The conversation has a member list.
        case listed
        /// The community has the member list; a private channel has a list in addition.
        case community
        /// No list exists: the members are the current subscribers.
        case subscribers
    }

    /// The source of a user's membership.
    public let membership: Membership
    /// Whether a reconnecting device receives the missed messages before live messages.
    public let replaysMissed: Bool
    /// Whether the conversation appears in the recents list, with unread counts and push.
    public let hasRecents: Bool
    /// Whether the first message creates the conversation.
    public let isImplicit: Bool
    /// Whether every message is streamed to all devices of all members; otherwise only to subscribers.
    public let streamsToMembers: Bool
    /// Whether the server stores some messages without streaming them under load.
    ///
    /// Devices leave the resulting gaps open until a user scrolls to them.
    public let streamsUnderLoadByPriority: Bool
    /// The default notification level.
    public let defaultNotificationLevel: NotificationLevel
    package let hasTwoPartNames: Bool

    fileprivate static func of(_ kind: ConversationKind) -> ConversationTraits {
        switch kind {
        case .direct: direct
        case .group: group
        case .community: community
        case .room: room
        case .system: system
        }
    }

    private static let direct = ConversationTraits(
        membership: .named, replaysMissed: true, hasRecents: true, isImplicit: true,
        streamsToMembers: true, streamsUnderLoadByPriority: false, defaultNotificationLevel: .all, hasTwoPartNames: true
    )
    private static let group = ConversationTraits(
        membership: .listed, replaysMissed: true, hasRecents: true, isImplicit: false,
        streamsToMembers: true, streamsUnderLoadByPriority: false, defaultNotificationLevel: .all,
        hasTwoPartNames: false)
    private static let community = ConversationTraits(
        membership: .community, replaysMissed: false, hasRecents: true, isImplicit: false,
        streamsToMembers: false, streamsUnderLoadByPriority: false, defaultNotificationLevel: .mentions,
        hasTwoPartNames: true)
    private static let room = ConversationTraits(
        membership: .subscribers, replaysMissed: false, hasRecents: false, isImplicit: false,
        streamsToMembers: false, streamsUnderLoadByPriority: true, defaultNotificationLevel: .none,
        hasTwoPartNames: false)
    private static let system = ConversationTraits(
        membership: .named, replaysMissed: true, hasRecents: true, isImplicit: true,
        streamsToMembers: true, streamsUnderLoadByPriority: false, defaultNotificationLevel: .all, hasTwoPartNames: true
    )
}
