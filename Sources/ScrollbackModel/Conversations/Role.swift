/// The role of a member, lowest first.
///
/// By default, members read, write and leave. Moderators can also add and remove members. Owners can also change
/// settings and roles, and delete.
public enum Role: String, CaseIterable, Codable, Sendable, Comparable {
    case member, moderator, owner

    private var rank: Int {
        switch self {
        case .member: 0
        case .moderator: 1
        case .owner: 2
        }
    }

    /// Returns whether `a` is a lower role than `b`.
    public static func < (a: Role, b: Role) -> Bool {
        a.rank < b.rank
    }
}

/// The part of the history that a member may see.
public enum HistoryVisibility: String, CaseIterable, Codable, Sendable {
    /// Only messages from the time of the membership.
    case sinceJoin
    /// All messages; after leaving, all messages up to that time.
    case everything
}
