package import ScrollbackModel

/// Replaces the connection's token before it expires.
package struct RenewToken: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "token", scope: .read, callers: .anyUser, cost: .read, tag: .server,
        summary: "Replace the connection's token",
        details: "The new token must belong to the same user.")

    package var token: String

    package init(token: String) {
        self.token = token
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        token = try request.required("token")
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("token", token)
    }
}
