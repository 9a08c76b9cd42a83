/// The messages for which a user wants pushes.
public enum NotificationLevel: String, CaseIterable, Codable, Sendable {
    /// All messages that can trigger a push.
    case all
    /// Messages that mention the user by name or mention everyone.
    case mentions
    /// No messages.
    case none

    /// Returns whether the level allows a push for a message.
    package func allows(mention: Bool) -> Bool {
        switch self {
        case .all: true
        case .mentions: mention
        case .none: false
        }
    }
}
