import ScrollbackModel

// Changes of a user's own view of a conversation, which other users don't see.

extension Transaction {
    /// Deletes messages for the caller only.
    ///
    /// - Returns: The number of messages that this call hid.
    func hide(_ ids: [MessageID], _ request: ChangeRequest, permissions: Permissions) throws -> Int {
        let user = request.caller.user
        var subject = try subject(of: request, permissions: permissions, needsMember: false)
        try checkIsOrWasMember(of: user, in: subject.row)
        var places = SeqRangeSet()
        for id in ids {
            guard let message = try store.message(id, in: subject.row.number),
                subject.access.visible.contains(message.seq)
            else { continue }
            places.insert(message.seq...message.seq)
        }
        guard !places.isEmpty else { return 0 }
        try hide(places.ranges, &subject, by: user)
        try publishHidden(user, ranges: places.ranges, request: request, permissions: permissions)
        return Int(places.count)
    }

    /// Clears the history up to a sequence number for the caller only.
    func clear(
        through seq: Seq, _ epoch: Epoch, _ request: ChangeRequest, permissions: Permissions
    ) throws -> ReadSummary {
        let user = request.caller.user
        let subject = try subject(of: request, permissions: permissions, needsMember: false)
        try checkIsOrWasMember(of: user, in: subject.row)
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
        if member.standing == .reader { member.joinCountedIndex = subject.access.unreadBase.countedIndex }
        if seq > member.clearSeq {
            member.clearSeq = seq
            member.clearCountedIndex = try max(member.clearCountedIndex, number(at: seq, in: subject.row))
            for deletedRange in try store.deletedRanges(of: user, in: subject.row.number)
            where deletedRange.places.upperBound <= seq {
                try store.dropDeletedRange(from: deletedRange.places.lowerBound, of: user, in: subject.row.number)
            }
            member.hasDeletedRanges = try !store.deletedRanges(of: user, in: subject.row.number).isEmpty
            member.userRev = try advanceRev(of: user, by: user)
            put(member)
            try flush()
            try publishHidden(user, ranges: [1...seq], request: request, permissions: permissions)
        }
        return try Access(
            to: request.conversation, for: request.caller, in: store, permissions: permissions, generation: generation,
            now: now.date
        ).summary(for: user, in: store)
    }

    /// Checks that the user is or was a member, because administrators can also see conversations without being a
    /// member.
    private func checkIsOrWasMember(of user: UserID, in row: ConversationRow) throws {
        guard try isOrWasMember(user, in: row) else {
            throw ChatError(.notMember, "Only members of \(row.id) can hide its messages.")
        }
    }

    private func publishHidden(
        _ user: UserID, ranges places: [SeqRange], request: ChangeRequest, permissions: Permissions
    ) throws {
        let access = try Access(
            to: request.conversation, for: request.caller, in: store, permissions: permissions, generation: generation,
            now: now.date)
        publish(
            .hidden(
                places,
                OwnStateChange(
                    conversation: request.conversation, user: user, summary: try access.summary(for: user, in: store))))
    }
}
