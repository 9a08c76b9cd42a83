import ScrollbackModel

// Changes of a user's own view of a conversation, which other users don't see.

extension Transaction {
    /// Deletes messages for the caller only.
    ///
    /// - Returns: The number of messages that this call hid.
    func hide(_ ids: [MessageID], _ request: ChangeRequest, permissions: Permissions) throws -> Int {
        let user = request.caller.user
        var subject = try subject(of: request, permissions: permissions, needsMember: false)
        try requireStanding(of: user, in: subject.row)
        var places = SeqRangeSet()
        for id in ids {
            guard let message = try store.message(id, in: subject.row.number),
                subject.access.visible.contains(message.seq)
            else { continue }
            places.insert(message.seq...message.seq)
        }
        guard !places.isEmpty else { return 0 }
        try hide(places.ranges, &subject, by: user)
        try tell(user, that: places.ranges, areHiddenIn: request, permissions: permissions)
        return Int(places.count)
    }

    /// Clears the history up to a sequence number for the caller only.
    func clear(
        through seq: Seq, _ epoch: Epoch, _ request: ChangeRequest, permissions: Permissions
    ) throws -> ReadSummary {
        let user = request.caller.user
        let subject = try subject(of: request, permissions: permissions, needsMember: false)
        try requireStanding(of: user, in: subject.row)
        guard epoch == subject.access.state.epoch else {
            throw ChatError(
                .epochChanged, "The conversation was recreated with a new epoch. Fetch its head again.",
                parameter: "epoch")
        }
        guard (0...subject.access.state.head).contains(seq) else {
            throw ChatError.invalidParameter(
                "seq", "must be in 0...\(subject.access.state.head), the newest one you can see")
        }
        var member =
            subject.access.member ?? MemberRow(conversation: subject.row.number, user: user, standing: .reader)
        if member.standing == .reader { member.joinN = subject.access.baseN }
        if seq > member.clearSeq {
            member.clearSeq = seq
            member.clearN = try max(member.clearN, number(at: seq, in: subject.row))
            for void in try store.voids(of: user, in: subject.row.number) where void.places.upperBound <= seq {
                try store.dropVoid(from: void.places.lowerBound, of: user, in: subject.row.number)
            }
            member.hasVoids = try !store.voids(of: user, in: subject.row.number).isEmpty
            member.userRev = try advanceRev(of: user, by: user)
            put(member)
            try flush()
            try tell(user, that: [1...seq], areHiddenIn: request, permissions: permissions)
        }
        return try Access(
            to: request.conversation, for: request.caller, in: store, permissions: permissions, generation: generation,
            now: now.date
        ).summary(for: user, in: store)
    }

    /// Checks that the user is or was a member, because administrators can also see conversations without being a
    /// member.
    private func requireStanding(of user: UserID, in row: ConversationRow) throws {
        guard try hasStanding(user, in: row) else {
            throw ChatError(.notMember, "Only members of \(row.id) can hide its messages.")
        }
    }

    private func tell(
        _ user: UserID, that places: [SeqRange], areHiddenIn request: ChangeRequest, permissions: Permissions
    ) throws {
        let access = try Access(
            to: request.conversation, for: request.caller, in: store, permissions: permissions, generation: generation,
            now: now.date)
        publish(
            .hidden(
                places,
                ReadEvent(
                    conversation: request.conversation, user: user, summary: try access.summary(for: user, in: store))))
    }
}
