/// Which messages somebody wants pushed.
public enum NotificationLevel: String, CaseIterable, Codable, Sendable {
    /// Every message a push may tell of.
    case all
    /// Messages that mention them, by name or because everyone is meant.
    case mentions
    /// None.
    case none

    /// Whether a message passes.
    package func allows(mention: Bool) -> Bool {
        switch self {
        case .all: true
        case .mentions: mention
        case .none: false
        }
    }
}
