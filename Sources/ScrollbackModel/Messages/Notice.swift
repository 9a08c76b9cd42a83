import Foundation

/// What a server says of a change to a group: who joined, who was put out, what it is called now.
///
/// It is the content of a message of type `notice` whose sender is who made the change. It counts as unread for nobody, and
/// no push tells of it. Servers write notices where their operator has switched them on.
public struct Notice: Hashable, Sendable {
    /// What happened; newer servers may send events this version does not list.
    public struct Event: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// As it travels, for example `member-added`.
        public let rawValue: String

        /// An event by its name, whether this version lists it or not.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The name as it travels.
        public var description: String { rawValue }

        /// The user joined by themselves.
        public static let memberJoined = Event(rawValue: "member-joined")
        /// The user was put in.
        public static let memberAdded = Event(rawValue: "member-added")
        /// The user left.
        public static let memberLeft = Event(rawValue: "member-left")
        /// The user was put out.
        public static let memberRemoved = Event(rawValue: "member-removed")
        /// The user was put out, and may not come back.
        public static let memberBanned = Event(rawValue: "member-banned")
        /// The user has another ``Notice/role``.
        public static let roleChanged = Event(rawValue: "role-changed")
        /// The user may not write any more, as ``Notice/mute`` says.
        public static let memberMuted = Event(rawValue: "member-muted")
        /// The user may write again.
        public static let memberUnmuted = Event(rawValue: "member-unmuted")
        /// The conversation is called ``Notice/name``.
        public static let nameChanged = Event(rawValue: "name-changed")
        /// The conversation has another picture.
        public static let avatarChanged = Event(rawValue: "avatar-changed")
        /// Only moderators and owners may write.
        public static let frozen = Event(rawValue: "frozen")
        /// Everybody may write again.
        public static let unfrozen = Event(rawValue: "unfrozen")
    }

    /// What happened.
    public var event: Event
    /// Whom it happened to; absent where it is about the conversation.
    public var user: UserID?
    /// Their role from then on, of `role-changed`.
    public var role: Role?
    /// Until when they may not write, of `member-muted`.
    public var mute: Mute?
    /// What the conversation is called from then on, of `name-changed`.
    public var name: String?

    /// A notice with what belongs to its event.
    public init(_ event: Event, user: UserID? = nil, role: Role? = nil, mute: Mute? = nil, name: String? = nil) {
        self.event = event
        self.user = user
        self.role = role
        self.mute = mute
        self.name = name
    }

    /// A sentence in English for apps that do not know the event, by the names of accounts.
    package func text(by sender: UserID) -> String {
        let user = user?.text ?? ""
        return switch event {
        case .memberJoined: "\(user) joined"
        case .memberAdded: "\(sender) added \(user)"
        case .memberLeft: "\(user) left"
        case .memberRemoved: "\(sender) removed \(user)"
        case .memberBanned: "\(sender) banned \(user)"
        case .roleChanged: "\(sender) made \(user) \(role?.rawValue ?? "something else")"
        case .memberMuted: "\(sender) muted \(user)"
        case .memberUnmuted: "\(sender) lets \(user) write again"
        case .nameChanged: "\(sender) called this \(name ?? "")"
        case .avatarChanged: "\(sender) changed the picture"
        case .frozen: "\(sender) froze this"
        case .unfrozen: "\(sender) lets everybody write again"
        default: "\(sender): \(event)"
        }
    }
}

extension MessageContent {
    /// What a server writes.
    package static func notice(_ notice: Notice, by sender: UserID) -> MessageContent {
        MessageContent(.notice) { writer in
            writer.field("event", notice.event.rawValue)
            writer.field("user", notice.user)
            writer.field("role", notice.role?.rawValue)
            switch notice.mute {
            case .until(let date): writer.field("mutedUntil", date)
            case .forever: writer.field("mutedUntil", "forever")
            case nil: break
            }
            writer.field("name", notice.name)
            writer.field("text", notice.text(by: sender))
        }
    }

    /// The notice, where the content is one of a server's; ``text`` is a sentence for who does not know its event.
    public var notice: Notice? {
        guard type == .notice, let event = json.string(at: "event") else { return nil }
        let until = json.string(at: "mutedUntil")
        let date = until.flatMap { try? Date(iso8601: $0, parameter: "mutedUntil") }
        return Notice(
            .init(rawValue: event), user: json.string(at: "user").flatMap { try? UserID($0) },
            role: json.string(at: "role").flatMap { Role(rawValue: $0) },
            mute: until == "forever" ? .forever : date.map { .until($0) }, name: json.string(at: "name"))
    }
}
