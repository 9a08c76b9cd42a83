import ScrollbackModel

// What readers see of the rows that they can see.

extension Access {
    /// The conversation's name as the reader sees it.
    package var name: String? { end.map(\.name) ?? conversation.name }

    /// The conversation's avatar as the reader sees it.
    package var avatar: String? { end.map(\.avatar) ?? conversation.avatar }

    /// Returns whether the reader sees an action on a message that they can see.
    func shows(_ action: ActionRow) -> Bool {
        end.map { action.timetoken <= $0.time } ?? true
    }

    /// Returns a message as the reader sees it.
    ///
    /// Every answer with messages uses this method. Members see the row unchanged. For a former member it costs up to
    /// two reads for a message that changed since. If the message has later actions, it also costs one read for each
    /// 100 of its earlier ones.
    func shown(_ row: MessageRow, in store: any StoreReader) throws -> MessageRow {
        guard let end, !end.isRevExact || row.rev > end.rev else { return row }
        var row = row
        if let replies = row.replies, replies.count > 0 {
            row.replies = try store.replies(in: row.id, of: conversation.number, until: end.time)
        }
        if row.isDeleted {
            row.rev = min(row.rev, end.rev)
        } else if let editedAt = row.editedAt, editedAt >= end.time.date {
            row.content = nil
            row.editedAt = nil
            row.actions = try shownActions(of: row, end, in: store)
            row.attributes = MessageAttributes(traits: row.attributes.traits)
            // Not newer than any version that the user's devices have.
            row.rev = 0
        } else {
            row.actions = try shownActions(of: row, end, in: store)
            row.rev = min(row.rev, end.rev)
        }
        return row
    }

    private func shownActions(
        of row: MessageRow, _ end: MembershipEnd, in store: any StoreReader
    ) throws -> [ActionSummary] {
        let later = try store.actions(at: row.seq, in: conversation.number, after: end.time, limit: 1)
        guard !later.isEmpty else { return row.actions }
        var counted = row
        counted.actions = []
        var after: Timetoken?
        while case let some = try store.actions(at: row.seq, in: conversation.number, after: after, limit: 100),
            let last = some.last
        {
            for action in some where shows(action) { counted.count(action) }
            guard shows(last) else { break }
            after = last.timetoken
        }
        return counted.actions
    }

    /// Returns a message of this conversation in the wire's form, as the reader sees it.
    func message(_ row: MessageRow, in store: any StoreReader) throws -> Message {
        try shown(row, in: store).message(in: conversation.id.relative(to: reader), epoch: state.epoch)
    }
}
