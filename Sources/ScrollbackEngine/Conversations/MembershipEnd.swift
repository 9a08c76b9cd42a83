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

extension MessageFilter {
    /// Whether the filter selects by parts of a message that an edit can change.
    var selectsEditedParts: Bool { customTypes != nil || mentionsMe || hasMedia }
}
