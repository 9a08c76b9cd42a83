import ScrollbackModel

// Who is who in a conversation, as the changes of the transaction so far have it.

extension Transaction {
    /// A conversation that exists and that the caller may see, be it only their part of its past.
    ///
    /// - Throws: `unknown-conversation` else: the two do not differ.
    func conversation(
        _ id: ConversationID, seenBy caller: Caller, permissions: Permissions
    ) throws -> ConversationRow {
        guard let row = try conversation(id), !row.isDeleted, try maySee(row, caller, permissions: permissions) else {
            throw Access.unknown(id)
        }
        return row
    }

    /// As ``Access`` has it: who left still sees their part, where being a member is what it takes.
    func maySee(_ row: ConversationRow, _ caller: Caller, permissions: Permissions) throws -> Bool {
        let required = permissions[.read, row.id.kind]
        return try required.isMet(by: role(of: caller.user, in: row), isAdmin: caller.isAdmin)
            || required == .member && hasStanding(caller.user, in: row)
    }

    /// Whether somebody is a member or was one.
    func hasStanding(_ user: UserID, in row: ConversationRow) throws -> Bool {
        if let member = try member(user, of: row.number), member.standing != .reader { return true }
        guard !row.isPrivate, let community = row.id.community, let outer = try conversation(community) else {
            return false
        }
        return try member(user, of: outer.number) != nil
    }

    /// Somebody's role now; absent for who is no member.
    func role(of user: UserID, in row: ConversationRow) throws -> Role? {
        let own = try member(user, of: row.number)
        guard row.id.kind == .community, !row.id.isCommunityItself else {
            return own?.standing == .member ? own?.role : nil
        }
        guard let community = try conversation(.community(row.id.target)), !community.isDeleted,
            let outer = try member(user, of: community.number), outer.standing == .member
        else { return nil }
        guard row.isPrivate else { return outer.role }
        return own?.standing == .member ? own.map { max($0.role, outer.role) } : nil
    }
}
