package import ScrollbackModel

/// Gets the profiles of users.
package struct FetchUsers: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "users", http: .post("/v1/users/fetch"), scope: .read, callers: .anyUser, cost: .lookup,
        tag: .users,
        summary: "Get the profiles of users", details: "The answer leaves out users without a profile.")

    /// How many users one request can name.
    package static let maximum = 100

    package struct Answer: DecodableAnswer {
        package static let schema: JSONSchema? = .object([.init("users", .array(.component("Profile")))])

        package var users: [UserProfile]

        package init(users: [UserProfile]) {
            self.users = users
        }

        package init(from reader: inout JSONReader) throws(ChatError) {
            users = try [UserProfile](from: &reader)
        }

        package func writeMembers(to writer: inout JSONWriter) {
            users.writeMembers(to: &writer)
        }
    }

    package var users: [UserID]

    package init(users: [UserID]) {
        self.users = users
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        users = try request.users()
    }

    package var tokens: Int { max(1, users.count) }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.key("users")
        writer.array(users) { $0.value($1.text) }
    }
}
