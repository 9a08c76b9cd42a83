package import ScrollbackModel

extension Transaction {
    /// Puts somebody in, or gives them another role.
    ///
    /// - Returns: whether they were put in.
    package func putMember(
        _ user: UserID, role: Role?, of id: ConversationID, by caller: Caller, permissions: Permissions
    ) throws -> Bool {
        let row = try conversationWithMembers(id, seenBy: caller)
        let callerRole = try self.role(of: caller.user, in: row)
        if let known = try member(user, of: row.number), known.standing == .member {
            guard let role, role != known.role else { return false }
            guard permissions[.changeRole, id.kind].isMet(by: callerRole, isAdmin: caller.isAdmin) else {
                throw ChatError(.forbidden, "changing a role in \(id) takes more than you are there")
            }
            var changed = known
            changed.role = role
            put(changed)
            try put(row)
            publish(.joined(id, user, role))
            return false
        }
        guard permissions[.addMember, id.kind].isMet(by: callerRole, isAdmin: caller.isAdmin) else {
            throw ChatError(.forbidden, "putting somebody into \(id) takes more than you are there")
        }
        if let role, role > .member,
            !permissions[.changeRole, id.kind].isMet(by: callerRole, isAdmin: caller.isAdmin)
        {
            throw ChatError(.forbidden, "giving a role in \(id) takes more than you are there")
        }
        if row.isPrivate, let community = try conversation(.community(id.target)),
            try member(user, of: community.number)?.standing != .member
        {
            throw ChatError(.unknownMember, "\(user) is not a member of the community", parameter: "user")
        }
        try admit(user, as: role ?? .member, to: row, sinceBeginning: false)
        return true
    }

    /// Puts somebody out, or lets them leave.
    package func removeMember(
        _ user: UserID, from id: ConversationID, by caller: Caller, permissions: Permissions
    ) throws {
        let row = try conversationWithMembers(id, seenBy: caller)
        guard var known = try member(user, of: row.number), known.standing == .member else {
            throw ChatError(.unknownMember, "\(user) is not a member of \(id)", parameter: "user")
        }
        let callerRole = try role(of: caller.user, in: row)
        let isLeaving = user == caller.user
        guard permissions[isLeaving ? .leave : .removeMember, id.kind].isMet(by: callerRole, isAdmin: caller.isAdmin),
            isLeaving || caller.isAdmin || known.role <= callerRole ?? .member
        else {
            throw ChatError(.forbidden, "putting \(user) out of \(id) takes more than you are there")
        }
        if var span = try store.spans(of: user, in: row.number).last, span.left == nil {
            span.left = id.isCommunityItself ? boundary().span : row.head
            try store.put(span, of: user, in: row.number)
        }
        known.standing = .left
        known.userRev = try advanceRev(of: user)
        put(known)
        try put(row)
        publish(.left(id, user))
    }

    /// Makes somebody a member from here on, or from the beginning.
    func admit(_ user: UserID, as role: Role, to row: ConversationRow, sinceBeginning: Bool) throws {
        var member = try member(user, of: row.number) ?? MemberRow(conversation: row.number, user: user, standing: .member)
        guard member.standing != .member || member.userRev == 0 else { return }
        member.standing = .member
        member.role = role
        member.joinSeq = sinceBeginning ? 0 : row.head
        member.joinN = sinceBeginning ? 0 : row.n
        member.userRev = try advanceRev(of: user)
        put(member)
        let joined: Int64 = sinceBeginning ? 0 : row.id.isCommunityItself ? boundary().span : row.head
        try store.put(SpanRow(joined: joined), of: user, in: row.number)
        try put(row)
        publish(.joined(row.id, user, role))
    }

    private func conversationWithMembers(_ id: ConversationID, seenBy caller: Caller) throws -> ConversationRow {
        guard let row = try conversation(id), !row.isDeleted else { throw Access.unknown(id) }
        guard try caller.isAdmin || role(of: caller.user, in: row) != nil else { throw Access.unknown(id) }
        if id.kind == .community, !id.isCommunityItself, !row.isPrivate {
            throw ChatError.invalidParameter(
                "conversation", "is a public channel: its members are the community's, \(ConversationID.community(id.target))")
        }
        return row
    }
}
