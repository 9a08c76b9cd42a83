import ScrollbackModel

// Unread counts of users who send messages.

extension Transaction {
    /// Excludes a message from its sender's unread count.
    ///
    /// If the sender has no unread messages or mentions before this message, the read position advances to it.
    /// Otherwise the message's counted index is excluded from the sender's count.
    func excludeOwnFromUnread(_ message: MessageRow, by sender: UserID, in row: ConversationRow, countBefore: Int64)
        throws
    {
        guard row.id.kind.traits.hasRecents, try role(of: sender, in: row) != nil else {
            return try recordParticipant(in: row.number, as: sender)
        }
        let known = try self.member(sender, of: row.number)
        // A sender without a row is a member of a public channel through its community, and gets a read position here.
        var member = known ?? MemberRow(conversation: row.number, user: sender, standing: .reader)
        var joined = (seq: member.joinSeq, countedIndex: member.joinCountedIndex)
        // In a public channel that was private before, the row's join position is from that time, not from when the
        // user joined the community.
        if known == nil || row.isPublicChannel && member.standing != .reader {
            joined = try joinPosition(of: sender, in: row, before: message.seq, countBefore)
        }
        if known == nil { (member.joinSeq, member.joinCountedIndex) = joined }
        let base = UnreadBase(of: row, member, joined: joined)
        // A sender who read up to the message before was mentioned in none since.
        if base.countedIndex == countBefore,
            try base.position == message.seq - 1
                || store.mentions(of: sender, in: row.number, above: base.position).isEmpty
        {
            member.readSeq = message.seq
            member.readCountedIndex = message.countedIndex
            return put(member)
        }
        if message.countedIndex > countBefore {
            try store.insert(message.countedIndex...message.countedIndex, into: .uncounted(sender), of: row.number)
        }
        if known == nil { try recordParticipant(in: row.number, as: sender) }
    }

    /// Returns the sequence number and counted index at which a member of a public channel joined its community.
    ///
    /// - Parameters:
    ///   - seq: The sequence number of the user's new message, which came after they joined.
    ///   - countBefore: The conversation's counted index before that message.
    private func joinPosition(
        of user: UserID, in row: ConversationRow, before seq: Seq, _ countBefore: Int64
    ) throws -> (seq: Seq, countedIndex: Int64) {
        var before = row
        before.head = seq - 1
        before.countedIndex = countBefore
        guard let community = try community(of: row),
            let joined = try spans(of: user, in: community.number).newestJoin
        else { return (before.head, countBefore) }
        return try store.joinPosition(at: store.position(atOrBefore: Timetoken(span: joined), in: row), in: before)
    }
}
