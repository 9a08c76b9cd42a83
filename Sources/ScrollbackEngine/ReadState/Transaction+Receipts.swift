import ScrollbackModel

extension Transaction {
    /// Stores a read receipt for a direct conversation.
    ///
    /// Only positions that the user's devices reported become receipts. The read position itself also moves when a user
    /// sends a message or clears the history. If one user has blocked the other, or receipts are off, nothing is
    /// stored. The receipt is then not reported later either.
    ///
    /// - Returns: The sequence number to report to the other user, or `nil` if the receipt is not newer than the stored
    ///   one.
    func storeReceipt(of user: UserID, through seq: Seq, in row: ConversationRow) throws -> Seq? {
        guard settings.readReceipts, row.otherUser(than: user) != nil, row.blocks.isEmpty else { return nil }
        var receipt = try store.receipt(of: user, in: row.number)
        guard receipt.readSeq < seq else { return nil }
        receipt.readSeq = seq
        try store.put(receipt, of: user, in: row.number)
        // Offline devices receive the receipt with the conversation's head.
        if let row = try conversation(row.id) { try put(row) }
        return seq
    }
}

extension ConversationRow {
    /// Returns the other user of a direct conversation.
    ///
    /// Returns `nil` if `user` is not one of the two, or if the conversation has only one user.
    func otherUser(than user: UserID) -> UserID? {
        guard id.kind == .direct, id.namedUsers.contains(user) else { return nil }
        return id.namedUsers.first { $0 != user }
    }
}
