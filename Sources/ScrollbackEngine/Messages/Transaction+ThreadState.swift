import ScrollbackModel

extension Transaction {
    /// Stores a user's state in a thread.
    func put(_ state: ThreadStateRow, of user: UserID, in row: ConversationRow) throws {
        // A member of a public channel through its community may have no other row there.
        try recordParticipant(in: row.number, as: user)
        try store.put(state, of: user, in: row.number)
    }
}
