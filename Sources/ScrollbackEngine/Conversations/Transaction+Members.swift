import ScrollbackModel

extension Transaction {
    /// Returns the earlier change of members with the request's operation ID.
    ///
    /// It is looked up before permissions, which the caller may have lost since the first attempt, for example by
    /// leaving.
    func previousMemberChange(_ request: ChangeRequest, _ digest: Int64) throws -> ChangeRow? {
        guard request.operation != nil, let row = try conversation(request.conversation), !row.isDeleted else {
            return nil
        }
        return try previousChange(request, digest, in: row)
    }

    /// Records the operation ID of a change of members in the change log.
    func rememberMemberChange(_ request: ChangeRequest, _ digest: Int64, answer: Int64) throws {
        guard request.operation != nil, var row = try conversation(request.conversation) else { return }
        // The entry covers no message, so clients don't see a change of the history.
        _ = try recordChange(.message, 0...0, in: &row, operation: request.operation, digest: digest, answer: answer)
        try put(row)
    }

    /// Removes a user from the private channels of a community that the user is removed from.
    ///
    /// A user who rejoins the community must be added to its private channels again.
    func removeFromChannels(_ user: UserID, of community: ConversationID, by other: UserID) throws {
        try flush()
        for member in try store.memberships(of: user) where member.standing == .member {
            guard let row = try store.conversation(numbered: member.conversation), row.id.community == community,
                row.id != community
            else { continue }
            try endMembership(user, of: row.id, by: other)
        }
    }

    /// Ends a membership and writes a notice about it.
    ///
    /// - Parameter event: The event of the notice, which is the last message the removed user can see.
    func endMembership(
        _ user: UserID, of id: ConversationID, by other: UserID, as event: Notice.Event = .memberRemoved
    ) throws {
        try writeNotice(Notice(user == other ? .memberLeft : event, user: user), in: id, by: other)
        guard var row = try conversation(id), var member = try member(user, of: row.number) else { return }
        let end = SpanRow.End(
            time: boundary(), rev: row.rev, isVoluntary: user == other, name: row.name, avatar: row.avatar)
        if row.id.isCommunityRoot { row.timetoken = end.time }
        for var span in try store.spans(of: member.user, in: row.number) where span.left == nil {
            span.left = row.id.isCommunityRoot ? end.time.span : row.head
            span.end = end
            try store.put(span, of: member.user, in: row.number)
        }
        member.standing = .left
        member.userRev = try advanceRev(of: member.user, by: other)
        put(member)
        try put(row)
        publish(.left(row.id, member.user))
    }

    /// Makes a user a member from now on or from the beginning.
    ///
    /// - Parameters:
    ///   - sinceBeginning: Whether the member can see all earlier messages.
    ///   - caller: The user who adds the member; the same as `user` if they join themselves.
    func addMember(
        _ user: UserID, as role: Role, to row: ConversationRow, sinceBeginning: Bool, by caller: UserID
    ) throws {
        var member =
            try member(user, of: row.number) ?? MemberRow(conversation: row.number, user: user, standing: .member)
        guard member.standing != .member || member.userRev == 0 else { return }
        member.standing = .member
        member.role = role
        member.joinSeq = sinceBeginning ? 0 : row.head
        member.joinCountedIndex = sinceBeginning ? 0 : row.countedIndex
        member.userRev = try advanceRev(of: user, by: caller)
        var row = try conversation(row.id) ?? row
        var joined: Int64 = 0
        if sinceBeginning {
            // A returning member can now see more of the history than before.
            if try !store.spans(of: user, in: row.number).isEmpty { member.view += 1 }
        } else if row.id.isCommunityRoot {
            // Stored as the newest time of the community, so that no later message gets an earlier timetoken if the
            // clock goes back.
            row.timetoken = boundary()
            joined = row.timetoken.span
        } else {
            joined = row.head
        }
        put(member)
        try consumeInvitation(of: user, to: row)
        try store.put(SpanRow(joined: joined), of: user, in: row.number)
        try put(row)
        publish(.joined(row.id, user, role, fullyVisibleAfter: try store.fullyVisibleAfter(member, in: row)))
    }

    /// Returns a conversation with its own list of members.
    ///
    /// - Throws: `invalid-parameter` for a public channel, whose community lists the members; `unknown-conversation`.
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
            "is a public channel, whose members are those of \(ConversationID.community(id.target))")
    }
}
