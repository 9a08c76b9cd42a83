package import ScrollbackModel

/// Blocks a user: they can't send direct messages to the caller any more.
package struct BlockUser: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "block", http: .put("/v1/blocks/{user}"), scope: .account, callers: .anyUser, cost: .write,
        tag: .users,
        summary: "Block a user",
        details: """
            The server refuses the user's direct messages to you, and their typing indicators don't reach you. \
            Messages in groups, communities and rooms still do. You can block at most 1,000 users.
            """)

    package var user: UserID

    package init(user: UserID) {
        self.user = user
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        user = try request.required("user")
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("user", user)
    }
}
