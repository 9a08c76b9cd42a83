package import ScrollbackModel

extension Transaction {
    /// Puts somebody in, or gives them another role.
    ///
    /// - Returns: whether they were put in.
    package func putMember(
        _ user: UserID, role: Role?, of id: ConversationID, by caller: Caller, permissions: Permissions
    ) throws -> Bool {
        if role ?? .member == .member, try joinAsInvited(user, id, by: caller) {
            try note(Notice(.memberJoined, user: user), in: id, by: user)
            return true
        }
        let row = try conversationWithMembers(id, seenBy: caller, permissions: permissions)
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
            publish(.joined(id, user, role, seesAllAbove: try store.seesAllAbove(known, in: row)))
            try note(Notice(.roleChanged, user: user, role: role), in: id, by: caller.user)
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
        if row.isPrivate, let community = try conversation(.community(id.target)) {
            try checkIsMember(user, of: community)
        }
        try checkIsNotBanned(user, from: row, toldTo: caller.user)
        try checkIsNotErased(user)
        try admit(user, as: role ?? .member, to: row, sinceBeginning: false, by: caller.user)
        try note(Notice(user == caller.user ? .memberJoined : .memberAdded, user: user), in: id, by: caller.user)
        return true
    }

    /// Puts somebody out, or lets them leave.
    package func removeMember(
        _ user: UserID, from id: ConversationID, by caller: Caller, permissions: Permissions
    ) throws {
        let row = try conversationWithMembers(id, seenBy: caller, permissions: permissions)
        guard let known = try member(user, of: row.number), known.standing == .member else {
            throw ChatError(.unknownMember, "\(user) is not a member of \(id)", parameter: "user")
        }
        let callerRole = try role(of: caller.user, in: row)
        // In a private channel who is more in its community is that there too.
        let theirRole = try role(of: user, in: row) ?? known.role
        let isLeaving = user == caller.user
        guard permissions[isLeaving ? .leave : .removeMember, id.kind].isMet(by: callerRole, isAdmin: caller.isAdmin),
            isLeaving || caller.isAdmin || theirRole <= callerRole ?? .member
        else {
            throw ChatError(.forbidden, "putting \(user) out of \(id) takes more than you are there")
        }
        if id.isCommunityItself { try takeOutOfChannels(user, of: id, by: caller.user) }
        try takeOut(user, of: id, by: caller.user)
    }

    /// Who is put out of a community is put out of its private channels, and must be put into them again.
    func takeOutOfChannels(_ user: UserID, of community: ConversationID, by other: UserID) throws {
        try flush()
        for member in try store.memberships(of: user) where member.standing == .member {
            guard let row = try store.conversation(numbered: member.conversation), row.id.community == community,
                row.id != community
            else { continue }
            try takeOut(user, of: row.id, by: other)
        }
    }

    /// - Parameter event: what the notice calls it, the last thing they see there.
    func takeOut(
        _ user: UserID, of id: ConversationID, by other: UserID, as event: Notice.Event = .memberRemoved
    ) throws {
        try note(Notice(user == other ? .memberLeft : event, user: user), in: id, by: other)
        guard var row = try conversation(id), var member = try member(user, of: row.number) else { return }
        let left: Int64
        if row.id.isCommunityItself {
            row.timetoken = boundary()
            left = row.timetoken.span
        } else {
            left = row.head
        }
        for var span in try store.spans(of: member.user, in: row.number) where span.left == nil {
            span.left = left
            try store.put(span, of: member.user, in: row.number)
        }
        member.standing = .left
        member.userRev = try advanceRev(of: member.user, by: other)
        put(member)
        try put(row)
        publish(.left(row.id, member.user))
    }

    /// Makes somebody a member from here on, or from the beginning.
    ///
    /// - Parameter caller: who does so, be it themselves.
    func admit(
        _ user: UserID, as role: Role, to row: ConversationRow, sinceBeginning: Bool, by caller: UserID
    ) throws {
        var member =
            try member(user, of: row.number) ?? MemberRow(conversation: row.number, user: user, standing: .member)
        guard member.standing != .member || member.userRev == 0 else { return }
        member.standing = .member
        member.role = role
        member.joinSeq = sinceBeginning ? 0 : row.head
        member.joinN = sinceBeginning ? 0 : row.n
        member.userRev = try advanceRev(of: user, by: caller)
        var row = try conversation(row.id) ?? row
        var joined: Int64 = 0
        if sinceBeginning {
            // Who was there before sees more of the past than they did.
            if try !store.spans(of: user, in: row.number).isEmpty { member.view += 1 }
        } else if row.id.isCommunityItself {
            // Kept as the newest time there, so that no later message gets an earlier one, whatever the clock does.
            row.timetoken = boundary()
            joined = row.timetoken.span
        } else {
            joined = row.head
        }
        put(member)
        try useInvitation(of: user, to: row)
        try store.put(SpanRow(joined: joined), of: user, in: row.number)
        try put(row)
        publish(.joined(row.id, user, role, seesAllAbove: try store.seesAllAbove(member, in: row)))
    }

    func conversationWithMembers(
        _ id: ConversationID, seenBy caller: Caller, permissions: Permissions
    ) throws -> ConversationRow {
        let row = try conversation(id, seenBy: caller, permissions: permissions)
        if row.isPublicChannel { throw ChatError.publicChannel(id) }
        return row
    }
}

extension ChatError {
    static func publicChannel(_ id: ConversationID) -> ChatError {
        .invalidParameter(
            "conversation",
            "is a public channel: its members are the community's, \(ConversationID.community(id.target))")
    }
}
