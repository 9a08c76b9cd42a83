package import ScrollbackModel

// Changes of a user's own state in a conversation: read position, mute, pin and visibility in the list of recents.

extension Transaction {
    /// Changes the caller's own state in a conversation, and publishes an event if anything changed.
    package func change(
        _ id: ConversationID, _ change: StateChange, by caller: Caller, permissions: Permissions
    ) throws -> ReadSummary {
        let (summary, event) = try changed(id, change, by: caller, permissions: permissions, as: nil)
        if let event { publish(.ownStateChanged(event)) }
        return summary
    }

    /// Advances the read positions of several conversations, as one change of the caller's state.
    package func read(_ marks: [ReadMark], by caller: Caller, permissions: Permissions) throws -> [ReadResult] {
        var events: [OwnStateChange] = []
        let revision = try advanceRev(of: caller.user, by: caller.user)
        let answers = try marks.map { mark in
            let id = mark.conversation.logID.absolute(for: caller.user)
            let change = StateChange.read(seq: mark.position.seq, epoch: mark.position.epoch, userRev: mark.userRev)
            do {
                let (summary, event) = try changed(id, change, by: caller, permissions: permissions, as: revision)
                if let event { events.append(event) }
                return ReadResult(conversation: mark.conversation, result: .success(summary))
            } catch let error as ChatError where error.status < 500 {
                return ReadResult(conversation: mark.conversation, result: .failure(error))
            }
        }
        if !events.isEmpty { publish(.ownStatesChanged(events)) }
        return answers
    }

    /// Applies a change to the caller's state.
    ///
    /// - Parameter revision: The caller's change counter for this change, if it is part of a larger change.
    /// - Returns: The caller's state after the change, and the event to publish if anything changed.
    private func changed(
        _ id: ConversationID, _ change: StateChange, by caller: Caller, permissions: Permissions, as revision: Int64?
    ) throws -> (ReadSummary, OwnStateChange?) {
        let user = caller.user
        if case .settings = change, id.kind.traits.isImplicit, id.namedUsers.contains(user),
            permissions[.create, id.kind].isMet(by: nil, isAdmin: caller.isAdmin)
        {
            // Settings of a direct conversation can be changed before its first message, for example for a contact.
            try prepareNamed(id, for: caller)
        }
        // The access reads the rows of this batch from the store.
        try flush()
        let access = try Access(
            to: id, for: caller, in: store, permissions: permissions, generation: generation, now: now.date)
        let row = access.conversation
        guard row.id.kind.traits.hasRecents else {
            throw ChatError.invalidParameter("conversation", "is a \(row.id.kind.rawValue), which has no read state")
        }
        guard try isOrWasMember(user, in: row) else {
            // Administrators can see conversations without being a member.
            throw ChatError(.notMember, "Only members of \(id) have their own state there.")
        }
        let known = memberForChange(access)
        var member = known
        let next = try revision ?? (store.user(user)?.rev ?? 0) + 1
        try apply(change, to: &member, access, next)
        // The other user of a direct conversation is notified only of explicit reads. The receipt can be new even if
        // the position was already there, because sending a message also advances the position.
        var receipt: Seq?
        if case .read(let seq, _, _) = change { receipt = try storeReceipt(of: user, through: seq, in: row) }
        guard member != known || receipt != nil else { return (try access.summary(for: user, in: store), nil) }
        if member != known {
            member.userRev = try revision ?? advanceRev(of: user, by: user)
            put(member)
        }
        try flush()
        let summary = try Access(
            to: id, for: caller, in: store, permissions: permissions, generation: generation, now: now.date
        ).summary(for: user, in: store)
        return (summary, OwnStateChange(conversation: row.id, user: user, summary: summary, receipt: receipt))
    }

    private func apply(
        _ change: StateChange, to member: inout MemberRow, _ access: Access, _ revision: Int64
    ) throws {
        switch change {
        case .read(let seq, let epoch, let userRev):
            try checkPosition(EpochPosition(seq: seq, epoch: epoch), access)
            try read(through: seq, &member, access)
            // If the reader did not know of the mark, it was set after they read, and stays.
            if member.isMarkedUnread, userRev.map({ member.markedRev <= $0 }) ?? true { member.isMarkedUnread = false }
        case .markUnread:
            guard !member.isMarkedUnread else { break }
            member.isMarkedUnread = true
            member.markedRev = revision
        case .notifications(let level): member.level = level
        case .settings(let isMuted, let isPinned):
            member.mutesPushes = isMuted ?? member.mutesPushes
            member.isPinned = isPinned ?? member.isPinned
        case .removeRecent(let position, let excludesFromNewDevices):
            try position.map { try checkPosition($0, access) }
            let seq = position?.seq ?? access.state.head
            member.removedSeq = max(member.removedSeq, seq)
            if excludesFromNewDevices { member.newDeviceFloor = max(member.newDeviceFloor, seq) }
        case .addRecent: member.removedSeq = 0
        case .excludeFromNewDevices(let position):
            try position.map { try checkPosition($0, access) }
            member.newDeviceFloor = max(member.newDeviceFloor, position?.seq ?? access.state.head)
        }
    }

    /// Advances a read position; a lower position than the current one has no effect.
    private func read(through seq: Seq, _ member: inout MemberRow, _ access: Access) throws {
        guard seq > member.readSeq else { return }
        let row = access.conversation
        member.readSeq = seq
        member.readCountedIndex = try max(member.readCountedIndex, store.countedIndex(at: seq, in: row))
        try store.dropBits(
            .uncounted(member.user), of: row.number, below: BitBlock.index(of: member.readCountedIndex + 1))
    }

    /// Returns the reader's membership row, or a new row for a user who has none in the conversation.
    ///
    /// A row without a membership, such as that of a member of a public channel, gets the counted index at or below
    /// which nothing is unread. Without it, the stored row would make earlier messages unread.
    func memberForChange(_ access: Access) -> MemberRow {
        var member =
            access.member
            ?? MemberRow(conversation: access.conversation.number, user: access.reader, standing: .reader)
        if member.standing == .reader { member.joinCountedIndex = access.unreadBase.countedIndex }
        return member
    }

    /// Checks that a position is in the log that the caller sees.
    ///
    /// - Throws: `epoch-changed`; `invalid-parameter` for a sequence number above the newest one that the caller sees.
    func checkPosition(_ position: EpochPosition, _ access: Access) throws {
        guard position.epoch == access.state.epoch else {
            throw ChatError(
                .epochChanged, "The conversation was recreated with a new epoch. Fetch its head again.",
                parameter: "epoch")
        }
        guard (0...access.state.head).contains(position.seq) else {
            throw ChatError.invalidParameter("seq", "must be in 0...\(access.state.head), the newest one you can see")
        }
    }
}
