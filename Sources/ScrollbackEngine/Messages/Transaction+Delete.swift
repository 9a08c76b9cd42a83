import ScrollbackModel

extension Transaction {
    /// Deletes messages for everyone, and leaves a tombstone in place of each.
    ///
    /// Messages that are already deleted don't count. Messages that don't exist or that the caller can't see are
    /// skipped.
    ///
    /// - Returns: The number of messages that this call deleted, and the last one.
    /// - Throws: `forbidden`; in this case, nothing is deleted.
    func delete(
        _ ids: [MessageID], _ request: ChangeRequest, permissions: Permissions, lowersUnread: Bool
    ) throws -> (deleted: Int, last: MessageRow?) {
        let subject = try subject(of: request, permissions: permissions)
        var row = subject.row
        var found: [MessageRow] = []
        for id in Set(ids) {
            guard let message = try store.message(id, in: row.number), subject.access.visible.contains(message.seq)
            else { continue }
            try subject.access.checkMayDelete(message, by: request.caller, permissions: permissions)
            found.append(message)
        }
        var deleted = 0
        var last = found.last
        for seq in found.map(\.seq).sorted() {
            // The row is read again, because deleting a reply changes the first message of its thread.
            guard var message = try store.message(at: seq, in: row.number), !message.isDeleted else { continue }
            if message.attributes.mayBePushed(as: message.type) {
                recalled[row.id, default: [:]][seq] = message.attributes.recallAttributes
            }
            try makeTombstone(of: &message, in: &row, lowersUnread: lowersUnread)
            deleted += 1
            last = message
        }
        let others = Set(found.filter { $0.sender != request.caller.user && !$0.isDeleted }.map(\.sender))
        if deleted > 0, !others.isEmpty {
            try audit(
                .deleteMessages, by: request.caller, of: others.count == 1 ? others.first : nil, in: row,
                detail: "\(deleted)")
        }
        return (deleted, last)
    }

    func makeTombstone(of message: inout MessageRow, in row: inout ConversationRow, lowersUnread: Bool) throws {
        let traits = message.traits
        try replaceMentions(message.attributes.mentions, with: nil, of: message, in: row.number)
        try store.removeActions(at: message.seq, in: row.number)
        if MessageContent.mayHaveFiles(message.type) {
            try removeReferences(at: message.seq...message.seq, in: row.number)
        }
        message.content = nil
        message.editedAt = nil
        message.actions = []
        message.attributes = MessageAttributes(traits: message.attributes.traits)
        if traits.countsUnread, lowersUnread {
            // The tombstone shows that the message does not count.
            message.attributes.traits.countsUnread = false
            try store.insert(message.countedIndex...message.countedIndex, into: .removed, of: row.number)
        }
        try store.insert(message.seq...message.seq, into: .deleted, of: row.number)
        try change(&message, in: &row)
        try countReply(of: message, by: -1, in: &row)
    }

    // MARK: Hiding

    /// Hides sequence numbers from one user, and excludes their messages from the user's unread count.
    func hide(_ ranges: [SeqRange], _ subject: Subject, by user: UserID) throws {
        guard !ranges.isEmpty else { return }
        let row = subject.row
        try checkCount(ofDeletedRangesWith: ranges, of: user, in: row.number)
        var member = memberForChange(subject.access)
        member.userRev = try advanceRev(of: user, by: user)
        member.hasDeletedRanges = true
        for range in ranges {
            let before = try store.countedIndex(at: range.lowerBound - 1, in: row)
            let last = try store.countedIndex(at: range.upperBound, in: row)
            if before < last { try store.insert(before + 1...last, into: .uncounted(user), of: row.number) }
        }
        try insert(ranges.map { DeletedRangeRow($0, userRev: member.userRev) }, of: user, in: row.number)
        put(member)
        try flush()
    }

    /// The maximum number of ranges that are deleted from one conversation, for everyone and for each user.
    ///
    /// Each access reads them all.
    private static let maximumDeletedRanges = 1000

    /// Checks that a conversation has space for more deleted ranges.
    ///
    /// - Parameter user: The user for whom they are deleted; `nil` for everyone.
    /// - Throws: `conflict`.
    func checkCount(ofDeletedRangesWith ranges: [SeqRange], of user: UserID?, in number: Int64) throws {
        let known = try store.deletedRanges(of: user, in: number)
        var all = SeqRangeSet(known.map(\.places))
        for range in ranges { all.insert(range) }
        guard all.ranges.count <= max(Self.maximumDeletedRanges, known.count) else {
            throw ChatError(
                .conflict,
                "At most \(Self.maximumDeletedRanges) separate ranges of a conversation can be deleted. "
                    + "Delete the messages between some of them, or clear the history.",
                limit: Self.maximumDeletedRanges)
        }
    }

    /// Adds deleted ranges, and merges each with the ranges that it touches or overlaps.
    func insert(_ deletedRanges: [DeletedRangeRow], of user: UserID?, in number: Int64) throws {
        var known = try store.deletedRanges(of: user, in: number)
        for deletedRange in deletedRanges {
            var whole = deletedRange
            let touching = known.partition { $0.touches(deletedRange) }
            for other in known[touching...] {
                try store.dropDeletedRange(from: other.places.lowerBound, of: user, in: number)
                whole.formUnion(other)
            }
            known.replaceSubrange(touching..., with: CollectionOfOne(whole))
            try store.put(whole, of: user, in: number)
        }
    }
}

extension DeletedRangeRow {
    /// Whether the ranges overlap or are adjacent.
    fileprivate func touches(_ other: DeletedRangeRow) -> Bool {
        places.lowerBound <= other.places.upperBound + 1 && other.places.lowerBound <= places.upperBound + 1
    }

    fileprivate mutating func formUnion(_ other: DeletedRangeRow) {
        places =
            min(places.lowerBound, other.places.lowerBound)...max(places.upperBound, other.places.upperBound)
        userRev = max(userRev, other.userRev)
        holdsMessages = holdsMessages || other.holdsMessages
    }
}
