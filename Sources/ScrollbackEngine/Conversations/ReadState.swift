package import ScrollbackModel

/// Unread is arithmetic on running numbers: nothing is scanned, and a send writes nothing for those who receive it.
package struct Unread: Hashable, Sendable {
    package var messages: Int64
    package var mentions: Int64

    /// - Returns: zero for who does not count: no member, or a kind of conversation without counts.
    package init(of user: UserID, _ access: Access, in store: any StoreReader) throws {
        messages = 0
        mentions = 0
        let row = access.conversation
        guard row.id.kind.traits.hasRecents, access.role != nil else { return }
        let base = access.baseN
        messages = max(0, access.state.n - base - (try store.hiddenCount(of: user, in: row.number, above: base)))
        mentions = Int64(
            try store.mentions(of: user, in: row.number, above: access.readPosition)
                .count { access.visible.contains($0) })
    }
}

extension StoreReader {
    /// How many messages above a running number somebody doesn't count: two sums, however many runs there are.
    func hiddenCount(of user: UserID, in conversation: Int64, above n: Int64) throws -> Int64 {
        guard let last = try lastHidden(of: user, in: conversation), last.upperN > n,
            // Where all runs up to there were forgotten the lowest that is left knows what they held.
            let first = try hidden(of: user, in: conversation, atOrBelowN: n)
                ?? firstHidden(of: user, in: conversation)
        else { return 0 }
        return last.sum() - first.sum(through: n)
    }
}

extension Access {
    /// The highest of the places up to which nothing is unread: read, joined at, cleared, gone.
    var readPosition: Seq {
        max(member?.readSeq ?? 0, joinSeq, member?.clearSeq ?? 0, conversation.firstSeq - 1)
    }

    package func summary(for user: UserID, in store: any StoreReader) throws -> ReadSummary {
        let unread = try Unread(of: user, self, in: store)
        return ReadSummary(
            epoch: state.epoch, readSeq: member?.readSeq ?? 0, unread: unread.messages, mentions: unread.mentions,
            isMarkedUnread: member?.isMarkedUnread ?? false, seq: state.head, n: state.n, rev: state.rev,
            userRev: member?.userRev ?? 0)
    }
}

extension Transaction {
    /// Moves a read position up; one that lies higher already stays.
    package func read(
        _ id: ConversationID, seq: Seq, epoch: Epoch, by caller: Caller, permissions: Permissions
    ) throws -> ReadSummary {
        // The rows of this batch must be where the access reads them.
        try flush()
        let user = caller.user
        let access = try Access(to: id, for: caller, in: store, permissions: permissions, generation: generation)
        let row = access.conversation
        guard row.id.kind.traits.hasRecents else {
            throw ChatError.invalidParameter("conversation", "\(row.id.kind.rawValue)s have no read position")
        }
        guard try hasStanding(user, in: row) else {
            // An administrator sees what they are no member of.
            throw ChatError(.notMember, "only members of \(id) have a read position there")
        }
        guard epoch == access.state.epoch else {
            throw ChatError(.epochChanged, "the conversation was made anew: its epoch is another", parameter: "epoch")
        }
        guard (0...access.state.head).contains(seq) else {
            throw ChatError.invalidParameter("seq", "must be in 0...\(access.state.head), the newest place you may see")
        }
        var member = access.member ?? MemberRow(conversation: row.number, user: user, standing: .reader)
        if member.standing == .reader { member.joinN = access.baseN }
        guard seq > member.readSeq || member.isMarkedUnread else {
            return try access.summary(for: user, in: store)
        }
        if seq > member.readSeq {
            member.readSeq = seq
            member.readN = try max(
                member.readN, store.message(atOrBelow: seq, in: row.number)?.n ?? row.floorN)
            try store.dropHidden(of: user, in: row.number, throughN: member.readN)
        }
        member.isMarkedUnread = false
        member.userRev = try advanceRev(of: user)
        put(member)
        try flush()
        let summary = try Access(
            to: id, for: caller, in: store, permissions: permissions, generation: generation
        ).summary(for: user, in: store)
        publish(.read(ReadEvent(conversation: id, user: user, summary: summary)))
        return summary
    }
}
