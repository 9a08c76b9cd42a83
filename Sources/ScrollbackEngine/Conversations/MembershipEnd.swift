import ScrollbackModel

/// The end of a membership, for a reader who sees a conversation as it was then.
///
/// A former member sees the messages of their membership without what was changed later. An edited message is a
/// tombstone, because its earlier content is not stored. Later actions and replies are left out. What was deleted later
/// is gone for them too.
struct MembershipEnd: Hashable, Sendable {
    /// The time after every earlier change and before every later one.
    let time: Timetoken
    /// The revision of the newest earlier change, or a lower one if the change log does not have it any more.
    let rev: Int64
    /// Whether `rev` is the newest earlier change, so that messages with a lower or equal revision are unchanged.
    let isRevExact: Bool
    /// The conversation's name at that time, as far as it is known.
    let name: String?
    let avatar: String?
}

extension MembershipEnd {
    /// Creates the end from what was stored with the membership.
    init(_ end: SpanRow.End, in row: ConversationRow) {
        let isNamedLater = row.namedAt > end.time
        self.init(
            time: end.time, rev: end.rev, isRevExact: true, name: isNamedLater ? end.name : row.name,
            avatar: isNamedLater ? end.avatar : row.avatar)
    }

    /// Creates the end of a membership of which only the time is known, from the change log.
    ///
    /// A name that changed later is left out. This reads a number of entries that grows with the logarithm of the
    /// changes.
    init(at time: Timetoken, in row: ConversationRow, _ store: any StoreReader) throws {
        var (low, high) = (row.changeFloor, row.rev)
        while low < high {
            let middle = low + (high - low) / 2
            // The entry with the next revision.
            guard let entry = try store.changes(in: row.number, after: middle, limit: 1).first, entry.at <= time else {
                high = middle
                continue
            }
            low = entry.rev
        }
        // If the entries that decide were deleted, the revision is below them, so that devices load the log again when
        // the user joins again.
        let isKnown = low > row.changeFloor || row.changeFloor == 0
        let isNamedLater = row.namedAt > time
        self.init(
            time: time, rev: isKnown ? low : row.changeFloor - 1, isRevExact: isKnown,
            name: isNamedLater ? nil : row.name, avatar: isNamedLater ? nil : row.avatar)
    }
}

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

extension MessageFilter {
    /// Whether the filter selects by parts of a message that an edit can change.
    var selectsEditedParts: Bool { customTypes != nil || mentionsMe || hasMedia }
}
