package import ScrollbackModel
package import ScrollbackWire

extension Engine {
    /// Returns the profiles of at most 100 users; users without a profile are left out.
    package func users(_ ids: [UserID]) throws -> [UserProfile] {
        try checkCount(of: ids)
        return try store.read { store in
            var seen: Set<UserID> = []
            return try ids.filter { seen.insert($0).inserted }.compactMap { try store.user($0) }
                .filter { $0.state != .erased }.map(\.profile)
        }
    }

    /// Returns a user's profile.
    ///
    /// - Throws: `unknown-user` if the user has no profile or was erased.
    package func user(_ id: UserID) throws -> UserProfile {
        guard let row = try store.read({ try $0.user(id) }), row.state != .erased else {
            throw ChatError(.unknownUser, "The user \(id) has no profile.")
        }
        return row.profile
    }

    /// Returns whether other users may only invite a user, and not add them to conversations.
    package func isInvitationOnly(_ id: UserID) throws -> Bool {
        try store.read { try $0.user(id)?.isInvitationOnly ?? false }
    }

    /// Returns the part of a user's profile that only they and administrators see.
    func ownSettings(of user: UserID, by caller: Caller) throws -> ProfileAnswer.Own {
        ProfileAnswer.Own(
            isInvitationOnly: try isInvitationOnly(user), push: try pushPreferences(of: user, by: caller))
    }

    /// Changes the caller's profile, or any profile if the caller is an administrator.
    ///
    /// - Parameter erasureCount: As for ``send(_:to:by:origin:since:completion:)``.
    package func putUser(
        _ id: UserID, _ change: ProfileChange, by caller: Caller, since erasureCount: Int? = nil,
        completion: @escaping Completion<UserProfile>
    ) {
        guard caller.user == id || caller.isAdmin else {
            return completion(.failure(ChatError(.forbidden, "Only \(id) or an administrator can edit this profile.")))
        }
        let erasureCount = erasureCount ?? self.erasureCount
        do {
            try checkTexts([("name", change.name)])
        } catch {
            return completion(.failure(error))
        }
        commits.submit(
            for: WorkOwner(caller),
            { [erasing] transaction in
                try erasing.check(caller.user, since: erasureCount)
                try id.checkIsNotReplacement()
                var row = try transaction.store.user(id) ?? UserRow(profile: UserProfile(id: id))
                if row.state == .erasing { throw row.unknown }
                // A profile replaces the earlier one, so it needs space but no quota.
                try transaction.checkGrowth(Growth(), by: caller)
                if row.state == .erased { row.state = .active }
                row.profile = change.applied(to: row.profile)
                row.isInvitationOnly = change.isInvitationOnly ?? row.isInvitationOnly
                try transaction.store.put(row)
                if let push = change.push { try transaction.change(push, of: id) }
                if caller.user != id { try transaction.audit(.changeProfile, by: caller, of: id) }
                transaction.publish(.userChanged(row.profile))
                return row.profile
            }, completion: completion)
    }
}
