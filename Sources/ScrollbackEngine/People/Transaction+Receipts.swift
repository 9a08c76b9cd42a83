import ScrollbackModel

extension Transaction {
    /// Keeps that somebody has read a direct conversation up to a place, for the other person to know.
    ///
    /// Only what their devices said was read: a position also moves past one's own messages and past what one cleared, of
    /// which nobody has read anything. Nothing is kept while one of the two has blocked the other, or where receipts are
    /// off, so that what was read meanwhile is not told later either.
    ///
    /// - Returns: the place to tell the other person, if it is a new one.
    func keepReceipt(of user: UserID, through seq: Seq, in row: ConversationRow) throws -> Seq? {
        guard settings.readReceipts, row.otherPerson(than: user) != nil, row.blocks.isEmpty,
            try store.receipt(of: user, in: row.number) < seq
        else { return nil }
        try store.putReceipt(seq, of: user, in: row.number)
        // Devices that are away hear of it by the head.
        if let row = try conversation(row.id) { try put(row) }
        return seq
    }
}

extension ConversationRow {
    /// The other of a direct conversation's two people; nobody for whoever is none of them, or writes to themselves.
    func otherPerson(than user: UserID) -> UserID? {
        guard id.kind == .direct, id.namedUsers.contains(user) else { return nil }
        return id.namedUsers.first { $0 != user }
    }
}
