/// What a member may do, lowest first.
///
/// By default members read, write and leave; moderators put members in and out besides; owners change settings and
/// roles, and delete, besides.
public enum Role: String, CaseIterable, Codable, Sendable, Comparable {
    case member, moderator, owner

    private var rank: Int {
        switch self {
        case .member: 0
        case .moderator: 1
        case .owner: 2
        }
    }

    /// Whether `a` stands below `b`: member, moderator, owner.
    public static func < (a: Role, b: Role) -> Bool {
        a.rank < b.rank
    }
}

/// What of the past a member may see.
public enum HistoryVisibility: String, CaseIterable, Codable, Sendable {
    /// What was said while they were a member.
    case sinceJoin
    /// Everything; after leaving, everything up to leaving.
    case everything
}
