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

    /// What sets this kind apart. Every rule that differs by kind reads it here.
    public var traits: ConversationTraits { ConversationTraits.table[self]! }
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

    public let membership: Membership
    /// Whether what was missed is replayed to a device that comes back, before live messages.
    public let replaysMissed: Bool
    /// Whether it has an entry in the list of recent conversations, with unread counts and push.
    public let hasRecents: Bool
    /// Whether only administrators create it.
    public let isCreatedByAdmin: Bool
    /// Whether it comes into being with its first message.
    public let isImplicit: Bool
    /// Whether members may send to it, or only the server.
    public let membersSend: Bool
    /// Whether every message goes to every member's devices; otherwise only to those who subscribed.
    public let streamsToMembers: Bool
    package let namesHaveTwoParts: Bool

    fileprivate static let table: [ConversationKind: ConversationTraits] = [
        .direct: .init(
            membership: .named, replaysMissed: true, hasRecents: true, isCreatedByAdmin: false, isImplicit: true,
            membersSend: true, streamsToMembers: true, namesHaveTwoParts: true),
        .group: .init(
            membership: .listed, replaysMissed: true, hasRecents: true, isCreatedByAdmin: false, isImplicit: false,
            membersSend: true, streamsToMembers: true, namesHaveTwoParts: false),
        .community: .init(
            membership: .community, replaysMissed: false, hasRecents: true, isCreatedByAdmin: true, isImplicit: false,
            membersSend: true, streamsToMembers: false, namesHaveTwoParts: true),
        .room: .init(
            membership: .subscribers, replaysMissed: false, hasRecents: false, isCreatedByAdmin: true,
            isImplicit: false, membersSend: true, streamsToMembers: false, namesHaveTwoParts: false),
        .system: .init(
            membership: .named, replaysMissed: true, hasRecents: true, isCreatedByAdmin: true, isImplicit: true,
            membersSend: false, streamsToMembers: true, namesHaveTwoParts: true),
    ]
}
