import ScrollbackModel

// Membership, including uncommitted changes of this transaction.

extension Transaction {
    /// Returns a conversation that exists and that the caller may see at least in part.
    ///
    /// - Throws: `unknown-conversation` if it does not exist or the caller may not see it; both cases have the same
    ///   error.
    func conversation(
        _ id: ConversationID, seenBy caller: Caller, permissions: Permissions
    ) throws -> ConversationRow {
        guard let row = try conversation(id), !row.isDeleted, try canSee(row, caller, permissions: permissions) else {
            throw Access.unknown(id)
        }
        return row
    }

    /// Returns whether a user can see at least a part of a conversation.
    ///
    /// Former members can still see the part of the history from their time as members. Unlike ``Access``, this does
    /// not check bans from conversations that everyone may read.
    func canSee(_ row: ConversationRow, _ caller: Caller, permissions: Permissions) throws -> Bool {
        let required = permissions[.read, row.id.kind]
        return try required.isMet(by: role(of: caller.user, in: row), isAdmin: caller.isAdmin)
            || required == .member && isOrWasMember(caller.user, in: row)
    }

    /// Returns whether a user is or was a member.
    ///
    /// For former members of a community, a public channel that was created later does not exist.
    func isOrWasMember(_ user: UserID, in row: ConversationRow) throws -> Bool {
        if let member = try member(user, of: row.number), member.standing != .reader { return true }
        guard !row.isPrivate, let community = row.id.community, let outer = try conversation(community),
            let membership = try member(user, of: outer.number)
        else { return false }
        guard membership.standing != .member, let end = try store.spans(of: user, in: outer.number).last?.left else {
            return true
        }
        return row.createdAt <= Timetoken(span: end).date
    }

    /// Returns a user's current role, or `nil` if they are not a member.
    func role(of user: UserID, in row: ConversationRow) throws -> Role? {
        let own = try member(user, of: row.number)
        guard row.id.kind == .community, !row.id.isCommunityRoot else {
            return own?.standing == .member ? own?.role : nil
        }
        guard let community = try conversation(.community(row.id.target)), !community.isDeleted,
            let outer = try member(user, of: community.number), outer.standing == .member
        else { return nil }
        guard row.isPrivate else { return outer.role }
        return own?.standing == .member ? own.map { max($0.role, outer.role) } : nil
    }
}
