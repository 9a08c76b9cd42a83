package import ScrollbackModel
package import ScrollbackWire

/// Revokes all tokens of a user.
package struct RevokeTokens: ChatOperation {
    package static let endpoint = Endpoint(
        http: .delete("/v1/users/{user}/tokens"), scope: .admin, callers: .administrator, cost: .write,
        tag: .users,
        summary: "Revoke a user's tokens",
        details: """
            The server refuses every token that was issued until now, and closes the user's connections with code \
            4010. It still sends the user's scheduled messages, unless you cancel them.
            """)

    package var user: UserID

    package init(user: UserID) {
        self.user = user
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        user = try request.required("user")
    }
}

extension RevokeTokens: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> EmptyAnswer {
        try context.caller.checkIsAdministrator("Revoking tokens")
        var row = try transaction.store.user(user) ?? UserRow(profile: UserProfile(id: user))
        // The time of the store: the clocks of several nodes can differ.
        row.revokedAt = transaction.now.date
        try transaction.store.put(row)
        try transaction.audit(.revokeTokens, by: context.caller, of: user)
        transaction.publish(.tokensRevoked(user))
        return EmptyAnswer()
    }
}
