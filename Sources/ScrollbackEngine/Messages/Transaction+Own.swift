import ScrollbackModel

// Changes of a user's own view of a conversation, which other users don't see.

extension Transaction {
    /// Deletes messages for the caller only.
    ///
    /// - Returns: The number of messages that this call hid.
    func hide(_ ids: [MessageID], _ request: ChangeRequest, permissions: Permissions) throws -> Int {
        let user = request.caller.user
        let subject = try subject(of: request, permissions: permissions, needsMember: false)
        try checkIsOrWasMember(of: user, in: subject.row)
        var hidden = SeqRangeSet()
        for id in ids {
            guard let message = try store.message(id, in: subject.row.number),
                subject.access.visible.contains(message.seq)
            else { continue }
            hidden.insert(message.seq...message.seq)
        }
        guard !hidden.isEmpty else { return 0 }
        try hide(hidden.ranges, subject, by: user)
        try publishHidden(user, ranges: hidden.ranges, request: request, permissions: permissions)
        return Int(hidden.count)
    }

    /// Checks that the user is or was a member, because administrators can also see conversations without being a
    /// member.
    func checkIsOrWasMember(of user: UserID, in row: ConversationRow) throws {
        guard try isOrWasMember(user, in: row) else {
            throw ChatError(.notMember, "Only members of \(row.id) can hide its messages.")
        }
    }

    func publishHidden(
        _ user: UserID, ranges: [SeqRange], request: ChangeRequest, permissions: Permissions
    ) throws {
        let access = try Access(
            to: request.conversation, for: request.caller, in: store, permissions: permissions, generation: generation,
            now: now.date)
        publish(
            .hidden(
                ranges,
                OwnStateChange(
                    conversation: request.conversation, user: user, summary: try access.summary(for: user, in: store))))
    }
}
