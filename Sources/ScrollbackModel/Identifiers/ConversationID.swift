/// The ID of a conversation: its kind, its name and, in a community, a channel.
///
/// The text form is `direct:bob`, `group:swift`, `community:city/general`, `room:lobby`, `system:billing`. A member
/// identifies a direct conversation by the peer and a system conversation by the service. Administrators, stores and
/// webhooks use the absolute forms `direct:alice/bob` (sorted by bytes) and `system:alice/billing` (receiver first).
/// Absolute forms have the same meaning for every user.
public struct ConversationID: Hashable, Sendable {
    /// The kind, which determines the meaning of ``target`` and ``part``.
    public let kind: ConversationKind
    /// The peer, group, community, room or service; in an absolute form, the first user.
    public let target: Identifier
    /// The channel of a community; in an absolute form, the other user or the service.
    public let part: Identifier?

    init(_ kind: ConversationKind, _ target: Identifier, _ part: Identifier? = nil) {
        self.kind = kind
        self.target = target
        self.part = part
    }

    /// Returns the direct conversation with a peer, as its member identifies it.
    ///
    /// The user's own ID is a valid peer.
    public static func direct(_ peer: UserID) -> ConversationID { .init(.direct, peer.identifier) }
    /// Returns the group with a name.
    public static func group(_ name: Identifier) -> ConversationID { .init(.group, name) }
    /// Returns the room with a name.
    public static func room(_ name: Identifier) -> ConversationID { .init(.room, name) }
    /// Returns the conversation in which a service sends to the current user.
    public static func system(_ service: UserID) -> ConversationID { .init(.system, service.identifier) }

    /// Returns a channel of a community; without a channel, the community itself for members, roles and settings.
    public static func community(_ name: Identifier, channel: Identifier? = nil) -> ConversationID {
        .init(.community, name, channel)
    }

    /// Returns the absolute ID of the direct conversation of two users.
    public static func direct(between a: UserID, and b: UserID) -> ConversationID {
        a <= b ? .init(.direct, a.identifier, b.identifier) : .init(.direct, b.identifier, a.identifier)
    }

    /// Returns the absolute ID of the conversation in which a service sends to one receiver.
    public static func system(to receiver: UserID, from service: UserID) -> ConversationID {
        .init(.system, receiver.identifier, service.identifier)
    }

    /// The channel that receives messages sent to a community without a channel.
    public static let defaultChannel: Identifier = "default"

    /// Whether this is a community and not one of its channels.
    public var isCommunityRoot: Bool { kind == .community && part == nil }

    /// The community that a channel belongs to.
    public var community: ConversationID? { kind == .community ? .community(target) : nil }
}

extension ConversationID {
    /// Returns the ID of a group that doesn't exist yet, with 128 random bits.
    public static func newGroup() -> ConversationID {
        var generator = SystemRandomNumberGenerator()
        let digits = (0..<2).map { _ in
            let part = String(generator.next() as UInt64, radix: 36)
            return String(repeating: "0", count: 13 - part.count) + part
        }
        return .group(Identifier(known: digits.joined()))
    }

    /// The ID of the conversation that has the settings and the list of members: for the default channel of a
    /// community, the community.
    package var administered: ConversationID {
        guard let community, community.logID == self else { return self }
        return community
    }
}

extension ConversationID {
    /// Whether the ID is absolute; stores use absolute IDs only.
    package var isAbsolute: Bool {
        switch kind {
        case .direct, .system: part != nil
        case .group, .community, .room: true
        }
    }

    /// Returns the absolute form of an ID that `user` used.
    package func absolute(for user: UserID) -> ConversationID {
        guard !isAbsolute else { return self }
        let other = UserID(known: target.text)
        return kind == .direct ? .direct(between: user, and: other) : .system(to: user, from: other)
    }

    /// Returns the form in which `user` identifies this conversation.
    ///
    /// For users who don't take part in it, such as administrators, the absolute ID is the only form.
    package func relative(to user: UserID) -> ConversationID {
        guard let part else { return self }
        switch kind {
        case .direct where target == user.identifier: return .direct(UserID(known: part.text))
        case .direct where part == user.identifier: return .direct(UserID(known: target.text))
        case .system where target == user.identifier: return .system(UserID(known: part.text))
        default: return self
        }
    }

    /// The users that an absolute ID names: both users of a direct conversation, or the receiver of a system
    /// conversation.
    package var namedUsers: [UserID] {
        guard isAbsolute, let part else { return [] }
        switch kind {
        case .direct where target == part: return [UserID(known: target.text)]
        case .direct: return [UserID(known: target.text), UserID(known: part.text)]
        case .system: return [UserID(known: target.text)]
        case .group, .community, .room: return []
        }
    }

    /// The ID of the log that receives messages sent to this ID; a community uses the log of its default channel.
    package var logID: ConversationID {
        isCommunityRoot ? .community(target, channel: Self.defaultChannel) : self
    }
}
