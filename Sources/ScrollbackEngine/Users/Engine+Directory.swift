package import ScrollbackModel
package import ScrollbackWire
import TextAnalysis

/// Which users a search of the directory finds.
package enum Directory: String, CaseIterable, Sendable {
    /// The directory is off.
    case nobody
    /// Users who are members of a conversation with the caller.
    case sharedConversations
    case everyone
}

extension Engine {
    /// The maximum number of users that one search of the directory compares.
    package static let maximumUsersCompared = 5_000
    /// The maximum number of matching users whose conversations one search compares with the caller's.
    package static let maximumUsersChecked = 200

    /// Returns the users whose names or IDs match a text, ordered by ID.
    ///
    /// Names can be encrypted in the store, so there is no index of them: a search reads users in the order of their
    /// IDs. One call compares at most ``maximumUsersCompared`` of them. A page can therefore be empty although more
    /// pages follow. The cursor is encrypted, because the last compared user can be one that the caller must not find.
    ///
    /// - Throws: `feature-off` if the directory is off; administrators find everyone. `invalid-parameter`.
    package func users(
        matching text: String, cursor: String?, limit: Int, by caller: Caller
    ) throws -> ListPage<UserProfile> {
        try checkLimit(limit)
        let after = try cursor.map { (text) throws(ChatError) in try directoryCursors.user(of: text) }
        let directory = caller.isAdmin ? .everyone : settings.people.directory
        guard directory != .nobody else {
            throw ChatError(.featureOff, "The directory is turned off on this server (setting directory).")
        }
        let terms = SearchTerms(text)
        guard !terms.isEmpty else {
            throw ChatError.invalidParameter("text", "must have a word: letters or digits")
        }
        return try store.read { store in
            let shared =
                directory == .everyone ? nil : try Set(store.conversations(withMember: caller.user))
            var found: [UserProfile] = []
            var last = after
            var (compared, checked) = (0, 0)
            func page() throws -> ListPage<UserProfile> {
                ListPage(found, cursor: try last.map { try directoryCursors.cursor(after: $0) })
            }
            while compared < Self.maximumUsersCompared {
                let rows = try store.users(prefix: "", state: .active, after: last, limit: Self.usersPerRead)
                for row in rows {
                    guard checked < Self.maximumUsersChecked else { return try page() }
                    last = row.profile.id
                    compared += 1
                    guard row.profile.matches(terms), row.profile.id != caller.user else { continue }
                    checked += 1
                    guard try isFound(row, by: caller.user, sharing: shared, in: store) else { continue }
                    found.append(row.profile)
                    if found.count == limit { return try page() }
                }
                if rows.count < Self.usersPerRead { return ListPage(found, cursor: nil) }
            }
            return try page()
        }
    }

    private static let usersPerRead = 500

    /// - Parameter shared: The conversations of which the user must be a member; `nil` finds everyone.
    private func isFound(
        _ row: UserRow, by caller: UserID, sharing shared: Set<Int64>?, in store: any StoreReader
    ) throws -> Bool {
        let user = row.profile.id
        if row.isBanned, try store.ban(of: user, in: BanRow.server)?.ban.isActive(at: clock()) == true { return false }
        if try store.hasBlocked(caller, user) || store.hasBlocked(user, caller) { return false }
        guard let shared else { return true }
        return try store.conversations(withMember: user).contains { shared.contains($0) }
    }
}

extension StoreReader {
    /// Returns the numbers of the conversations of which a user is a member.
    fileprivate func conversations(withMember user: UserID) throws -> [Int64] {
        try memberships(of: user).filter { $0.standing == .member }.map(\.conversation)
    }
}

extension UserProfile {
    /// Returns whether each term begins words of the name or the ID.
    fileprivate func matches(_ terms: SearchTerms) -> Bool {
        terms.ranges(in: name.map { "\($0)\n\(id.text)" } ?? id.text) != nil
    }
}
