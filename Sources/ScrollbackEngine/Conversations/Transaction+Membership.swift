import ScrollbackModel

// Membership, including uncommitted changes of this transaction.

extension Transaction {
    /// Returns a conversation that exists and that the caller may see at least in part.
    ///
    /// - Throws: `unknown-conversation` if it does not exist or the caller may not see it; both cases have the same
    ///   error.
    func conversation(
        _ id: ConversationID, seenBy caller: Caller, permissions: Permissions
    ) throws -> ConversationRow {
        guard let row = try conversation(id), !row.isDeleted, try canSee(row, caller, permissions: permissions) else {
            throw Access.unknown
        }
        return row
    }

    /// Returns whether a user can see at least a part of a conversation.
    ///
    /// Former members can still see the part of the history from their time as members. Unlike ``Access``, this does
    /// not check bans from conversations that everyone may read.
    func canSee(_ row: ConversationRow, _ caller: Caller, permissions: Permissions) throws -> Bool {
        let required = permissions[.read, row.id.kind]
        return try required.isMet(by: role(of: caller.user, in: row), isAdmin: caller.isAdmin)
            || required == .member && isOrWasMember(caller.user, in: row)
    }
}
