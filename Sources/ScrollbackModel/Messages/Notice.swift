import Foundation

/// A server message about a change to a group, such as a new member or a new name.
///
/// It is the content of a message of type `notice` whose sender is the user who made the change. Notices don't count as
/// unread and trigger no push. Servers create notices only if the setting is on.
public struct Notice: Hashable, Sendable {
    /// The kind of change; newer servers may send events that this version does not list.
    public struct Event: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The wire form, for example `member-added`.
        public let rawValue: String

        /// Creates an event, which need not be one that this version lists.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The wire form.
        public var description: String { rawValue }

        /// The user joined.
        public static let memberJoined = Event(rawValue: "member-joined")
        /// The user was added.
        public static let memberAdded = Event(rawValue: "member-added")
        /// The user left.
        public static let memberLeft = Event(rawValue: "member-left")
        /// The user was removed.
        public static let memberRemoved = Event(rawValue: "member-removed")
        /// The user was removed and banned.
        public static let memberBanned = Event(rawValue: "member-banned")
        /// The user's role changed to ``Notice/role``.
        public static let roleChanged = Event(rawValue: "role-changed")
        /// The user was muted, as ``Notice/mute`` describes.
        public static let memberMuted = Event(rawValue: "member-muted")
        /// The user was unmuted.
        public static let memberUnmuted = Event(rawValue: "member-unmuted")
        /// The conversation was renamed to ``Notice/name``.
        public static let nameChanged = Event(rawValue: "name-changed")
        /// The conversation's picture changed.
        public static let avatarChanged = Event(rawValue: "avatar-changed")
        /// The conversation was frozen: only moderators and owners may write.
        public static let frozen = Event(rawValue: "frozen")
        /// The conversation was unfrozen.
        public static let unfrozen = Event(rawValue: "unfrozen")
    }

    /// The kind of change.
    public var event: Event
    /// The affected user; `nil` if the change is about the conversation.
    public var user: UserID?
    /// The new role, for `role-changed`.
    public var role: Role?
    /// The mute, for `member-muted`.
    public var mute: Mute?
    /// The new name of the conversation, for `name-changed`.
    public var name: String?

    /// Creates a notice.
    public init(_ event: Event, user: UserID? = nil, role: Role? = nil, mute: Mute? = nil, name: String? = nil) {
        self.event = event
        self.user = user
        self.role = role
        self.mute = mute
        self.name = name
    }

    /// Returns an English sentence with user IDs, for apps that don't know the event.
    package func text(by sender: UserID) -> String {
        let user = user?.text ?? ""
        return switch event {
        case .memberJoined: "\(user) joined"
        case .memberAdded: "\(sender) added \(user)"
        case .memberLeft: "\(user) left"
        case .memberRemoved: "\(sender) removed \(user)"
        case .memberBanned: "\(sender) banned \(user)"
        case .roleChanged: "\(sender) made \(user) \(role?.rawValue ?? "unknown")"
        case .memberMuted: "\(sender) muted \(user)"
        case .memberUnmuted: "\(sender) unmuted \(user)"
        case .nameChanged: "\(sender) renamed the conversation to \(name ?? "")"
        case .avatarChanged: "\(sender) changed the picture"
        case .frozen: "\(sender) froze the conversation"
        case .unfrozen: "\(sender) unfroze the conversation"
        default: "\(sender): \(event)"
        }
    }
}

extension MessageContent {
    /// Returns the content of a notice.
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

    /// The notice, if the content is one; ``text`` has a sentence for apps that don't know the event.
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
