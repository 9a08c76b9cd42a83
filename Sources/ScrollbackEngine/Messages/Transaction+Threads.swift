import ScrollbackModel

extension Transaction {
    /// Returns the first message of the thread that a reply belongs to.
    ///
    /// - Parameter seesAll: Whether the sender can see all messages without being a member.
    /// - Returns: The message's ID, or `nil` if the message replied to does not exist or the sender can't see it.
    func thread(
        of submission: Submission, by sender: UserID, seesAll: Bool, in row: ConversationRow
    ) throws -> MessageID? {
        guard let replyTo = submission.attributes.replyTo,
            let answered = try visibleMessage(replyTo, to: sender, seesAll: seesAll, in: row)
        else { return nil }
        return answered.thread ?? answered.id
    }

    /// Returns a message that a user can see, or `nil`.
    func visibleMessage(
        _ id: MessageID, to user: UserID, seesAll: Bool, in row: ConversationRow
    ) throws -> MessageRow? {
        guard let message = try store.message(id, in: row.number), message.seq >= row.firstSeq,
            try isVisible(message, to: user, seesAll: seesAll, in: row)
        else { return nil }
        return message
    }

    private func isVisible(
        _ message: MessageRow, to user: UserID, seesAll: Bool, in row: ConversationRow
    ) throws -> Bool {
        if try isInDeletedRange(message.seq, in: row) { return false }
        if seesAll || row.visibility == .everything { return true }
        if let member = try member(user, of: row.number), member.standing == .member, message.seq > member.joinSeq {
            return true
        }
        for span in try store.spans(of: user, in: row.number)
        where span.joined < message.seq && message.seq <= span.left ?? .max { return true }
        guard let community = row.id.community, !row.isPrivate, let outer = try conversation(community) else {
            return false
        }
        return try store.spans(of: user, in: outer.number).contains { span in
            Timetoken(span: span.joined) < message.timetoken
                && span.left.map { message.timetoken <= Timetoken(span: $0) } ?? true
        }
    }

    /// Returns whether a sequence number is in a deleted range.
    private func isInDeletedRange(_ seq: Seq, in row: ConversationRow) throws -> Bool {
        guard row.hasDeletedRanges else { return false }
        return try store.deletedRanges(of: nil, in: row.number).contains { $0.places.contains(seq) }
    }

    /// Records a sent reply in its thread, and who follows the thread from now on.
    ///
    /// These are the sender, the sender of the first message, and the members that the reply mentions by name. The
    /// latter two don't follow the thread again if they stopped following it.
    func recordReply(_ reply: MessageRow, by caller: Caller, in row: inout ConversationRow) throws {
        guard let root = try countReply(of: reply, by: 1, in: &row) else { return }
        try recordGrowth(Growth(messageBytes: root.storedBytes), by: caller)
        guard row.id.kind.traits.hasRecents else { return }
        let followers = Set((reply.attributes.mentions?.users ?? []) + [root.sender, reply.sender])
        for user in followers.sorted() where try role(of: user, in: row) != nil {
            let known = try store.threadState(of: user, in: root.id, of: row.number)
            var state = known ?? ThreadStateRow(thread: root.id)
            if user == reply.sender || state.following == .undecided { state.following = .followed }
            if state != known { try put(state, of: user, in: row) }
        }
    }

    /// Adds `difference` to the reply count of the first message of a thread, even if that message is a tombstone.
    ///
    /// - Returns: The first message, or `nil` if it is gone.
    @discardableResult
    func countReply(of reply: MessageRow, by difference: Int64, in row: inout ConversationRow) throws -> MessageRow? {
        guard let thread = reply.thread, var root = try store.message(thread, in: row.number),
            root.seq >= row.firstSeq, try !isInDeletedRange(root.seq, in: row)
        else { return nil }
        if difference > 0, reply.traits.countsUnread {
            try store.insert(reply.countedIndex...reply.countedIndex, into: .replies(thread), of: row.number)
        }
        let count = max(0, (root.replies?.count ?? 0) + difference)
        var last = max(root.replies?.lastReplyAt ?? reply.timetoken, reply.timetoken)
        if difference < 0, count > 0 { last = try newestReply(in: thread, besides: reply, of: row) ?? last }
        root.replies = count > 0 ? ReplySummary(count: count, lastReplyAt: last) : nil
        try change(&root, in: &row)
        return root
    }

    /// Returns the time of the newest reply in a thread that was not deleted.
    private func newestReply(in thread: MessageID, besides reply: MessageRow, of row: ConversationRow) throws
        -> Timetoken?
    {
        var seqs = SeqRangeSet([row.firstSeq...row.head])
        if row.hasDeletedRanges {
            for deletedRange in try store.deletedRanges(of: nil, in: row.number) { seqs.remove(deletedRange.places) }
        }
        for range in seqs.ranges.reversed() {
            var top = range.upperBound
            while top >= range.lowerBound {
                let some = try store.messages(
                    in: row.number, range.lowerBound...top, newestFirst: true, limit: 20, filter: .thread(thread),
                    reader: reply.sender)
                if let newest = some.first(where: { !$0.isDeleted && $0.seq != reply.seq }) { return newest.timetoken }
                guard some.count == 20, let last = some.last else { break }
                top = last.seq - 1
            }
        }
        return nil
    }
}
