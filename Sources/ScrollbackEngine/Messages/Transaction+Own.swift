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

    /// Clears the history up to a sequence number for the caller only.
    func clear(
        through seq: Seq, _ epoch: Epoch, _ request: ChangeRequest, permissions: Permissions
    ) throws -> ReadSummary {
        let user = request.caller.user
        let subject = try subject(of: request, permissions: permissions, needsMember: false)
        try checkIsOrWasMember(of: user, in: subject.row)
        try checkPosition(EpochPosition(seq: seq, epoch: epoch), subject.access)
        var member = memberForChange(subject.access)
        if seq > member.clearSeq {
            member.clearSeq = seq
            member.clearCountedIndex = try max(
                member.clearCountedIndex, store.countedIndex(at: seq, in: subject.row))
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
