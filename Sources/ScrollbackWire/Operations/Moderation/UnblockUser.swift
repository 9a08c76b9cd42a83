package import ScrollbackModel

/// Unblocks a user.
package struct UnblockUser: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "unblock", http: .delete("/v1/blocks/{user}"), scope: .account, callers: .anyUser,
        cost: .write, tag: .users,
        summary: "Unblock a user",
        details: "Unblocking a user who is not blocked succeeds.")

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
