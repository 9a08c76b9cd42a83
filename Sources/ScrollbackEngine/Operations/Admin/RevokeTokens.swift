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

extension RevokeTokens: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<EmptyAnswer>) {
        context.engine.revokeTokens(of: user, by: context.caller) { completion($0.map { EmptyAnswer() }) }
    }
}
