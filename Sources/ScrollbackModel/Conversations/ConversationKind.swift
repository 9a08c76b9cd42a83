/// The five kinds of conversation.
public enum ConversationKind: String, CaseIterable, Codable, Sendable {
    /// Two people, or one alone with their notes.
    case direct
    /// A listed set of members.
    case group
    /// A channel of a community, whose members may be a hundred thousand.
    case community
    /// Whoever is subscribed at the moment.
    case room
    /// One receiver; the server sends.
    case system

    /// What sets this kind apart.
    ///
    /// Every rule that differs by kind reads it here.
    public var traits: ConversationTraits { ConversationTraits.of(self) }
}

/// What sets the kinds of conversation apart: one table, read by every rule.
public struct ConversationTraits: Hashable, Sendable {
    /// Where a conversation's members are written down.
    public enum Membership: Hashable, Sendable {
        /// In its name.
        case named
        /// In a list of its own.
        case listed
        /// In its community's list; a private channel has its own besides.
        case community
        /// Nowhere: whoever is subscribed.
        case subscribers
    }

    /// Where it is looked up who a member is.
    public let membership: Membership
    /// Whether what was missed is replayed to a device that comes back, before live messages.
    public let replaysMissed: Bool
    /// Whether it has an entry in the list of recent conversations, with unread counts and push.
    public let hasRecents: Bool
    /// Whether it comes into being with its first message.
    public let isImplicit: Bool
    /// Whether every message goes to every member's devices; otherwise only to those who subscribed.
    public let streamsToMembers: Bool
    /// Whether under load some messages are stored and not streamed, so that a device leaves the holes until somebody looks
    /// there.
    public let streamsUnderLoadByPriority: Bool
    /// What is pushed where nobody set anything.
    public let pushes: NotificationLevel
    package let namesHaveTwoParts: Bool

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
        streamsToMembers: true, streamsUnderLoadByPriority: false, pushes: .all, namesHaveTwoParts: true)
    private static let group = ConversationTraits(
        membership: .listed, replaysMissed: true, hasRecents: true, isImplicit: false,
        streamsToMembers: true, streamsUnderLoadByPriority: false, pushes: .all, namesHaveTwoParts: false)
    private static let community = ConversationTraits(
        membership: .community, replaysMissed: false, hasRecents: true, isImplicit: false,
        streamsToMembers: false, streamsUnderLoadByPriority: false, pushes: .mentions, namesHaveTwoParts: true)
    private static let room = ConversationTraits(
        membership: .subscribers, replaysMissed: false, hasRecents: false, isImplicit: false,
        streamsToMembers: false, streamsUnderLoadByPriority: true, pushes: .none, namesHaveTwoParts: false)
    private static let system = ConversationTraits(
        membership: .named, replaysMissed: true, hasRecents: true, isImplicit: true,
        streamsToMembers: true, streamsUnderLoadByPriority: false, pushes: .all, namesHaveTwoParts: true)
}
