/// What a member may do, lowest first.
public enum Role: String, CaseIterable, Codable, Sendable, Comparable {
    case member, moderator, owner

    public static func < (a: Role, b: Role) -> Bool {
        allCases.firstIndex(of: a)! < allCases.firstIndex(of: b)!
    }
}

/// What of the past a member may see.
public enum HistoryVisibility: String, CaseIterable, Codable, Sendable {
    /// What was said while they were a member.
    case sinceJoin
    /// Everything; after leaving, everything up to leaving.
    case everything
}
