/// What a conversation is called: its kind, its name and, in a community, a channel.
///
/// The text form is `direct:bob`, `group:swift`, `community:city/general`, `room:lobby`, `system:billing`.
/// A member names a direct conversation by the peer and a system conversation by the service. Administrators, stores and
/// webhooks use the absolute forms `direct:alice/bob` (sorted by bytes) and `system:alice/billing` (receiver first), which
/// mean the same to everybody.
public struct ConversationID: Hashable, Sendable {
    /// Which of the five kinds; it decides what ``target`` and ``part`` name.
    public let kind: ConversationKind
    /// The peer, group, community, room or service; in an absolute form the first user.
    public let target: Identifier
    /// The channel of a community; in an absolute form the other user or the service.
    public let part: Identifier?

    private init(_ kind: ConversationKind, _ target: Identifier, _ part: Identifier? = nil) {
        self.kind = kind
        self.target = target
        self.part = part
    }

    /// The direct conversation with a peer, as its member names it; oneself is a valid peer.
    public static func direct(_ peer: UserID) -> ConversationID { .init(.direct, peer.identifier) }
    /// A group, by the name it was created with.
    public static func group(_ name: Identifier) -> ConversationID { .init(.group, name) }
    /// A room, by the name it was created with.
    public static func room(_ name: Identifier) -> ConversationID { .init(.room, name) }
    /// What a service sends to the user who names it so.
    public static func system(_ service: UserID) -> ConversationID { .init(.system, service.identifier) }

    /// A channel of a community; without one, the community itself where members, roles and settings are meant.
    public static func community(_ name: Identifier, channel: Identifier? = nil) -> ConversationID {
        .init(.community, name, channel)
    }

    /// The direct conversation of two people, named the same for everybody.
    public static func direct(between a: UserID, and b: UserID) -> ConversationID {
        a <= b ? .init(.direct, a.identifier, b.identifier) : .init(.direct, b.identifier, a.identifier)
    }

    /// What a service sends to one receiver, named the same for everybody.
    public static func system(to receiver: UserID, from service: UserID) -> ConversationID {
        .init(.system, receiver.identifier, service.identifier)
    }

    /// The channel messages go to where a community is named without one.
    public static let defaultChannel: Identifier = "default"

    /// Whether this is a community itself and not one of its channels.
    public var isCommunityItself: Bool { kind == .community && part == nil }

    /// The community a channel belongs to.
    public var community: ConversationID? { kind == .community ? .community(target) : nil }
}

extension ConversationID {
    /// Whether the name means the same to everybody: stores know conversations by these names only.
    package var isAbsolute: Bool {
        switch kind {
        case .direct, .system: part != nil
        case .group, .community, .room: true
        }
    }

    /// The name that means the same to everybody, of a name that `user` used.
    package func absolute(for user: UserID) -> ConversationID {
        guard !isAbsolute else { return self }
        let other = UserID(known: target.text)
        return kind == .direct ? .direct(between: user, and: other) : .system(to: user, from: other)
    }

    /// The name `user` knows a conversation by, of its absolute name.
    ///
    /// For whoever takes no part in it (an administrator) the absolute name is the only one.
    package func relative(to user: UserID) -> ConversationID {
        guard let part else { return self }
        switch kind {
        case .direct where target == user.identifier: return .direct(UserID(known: part.text))
        case .direct where part == user.identifier: return .direct(UserID(known: target.text))
        case .system where target == user.identifier: return .system(UserID(known: part.text))
        default: return self
        }
    }

    /// The people an absolute name itself says take part: both of a direct conversation, the receiver of a system one.
    package var namedUsers: [UserID] {
        guard isAbsolute, let part else { return [] }
        switch kind {
        case .direct where target == part: return [UserID(known: target.text)]
        case .direct: return [UserID(known: target.text), UserID(known: part.text)]
        case .system: return [UserID(known: target.text)]
        case .group, .community, .room: return []
        }
    }

    /// The log that messages sent to this name go to: a community's are its default channel's.
    package var log: ConversationID {
        isCommunityItself ? .community(target, channel: Self.defaultChannel) : self
    }
}
