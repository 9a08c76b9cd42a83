package import ScrollbackModel
package import ScrollbackWire

/// Lists the users of the server.
package struct ListUsers: ChatOperation {
    package static let endpoint = Endpoint(
        http: .get("/v1/admin/users"), scope: .admin, callers: .administrator, cost: .read, tag: .users,
        summary: "List users", details: "Ordered by name.")

    package struct Answer: OperationAnswer {
        package static let schema: JSONSchema? = .object([
            .init("users", .array(.component("UserEntry"))),
            .init("cursor", .string(), isRequired: false, "Pass it to get the next page. Absent on the last page."),
        ])

        package var users: [UserEntry]
        /// The last user of this page, if another page follows.
        package var next: UserID?

        package func writeMembers(to writer: inout JSONWriter) {
            writer.key("users")
            writer.array(users) { $1.write(to: &$0) }
            writer.field("cursor", next)
        }
    }

    /// The beginning of the user names.
    package var prefix: String?
    /// Only users in this state, or `nil` for all users who were not erased.
    package var state: UserState?
    package var page: Paging

    package init(prefix: String? = nil, state: UserState? = nil, page: Paging) {
        self.prefix = prefix
        self.state = state
        self.page = page
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        page = try Paging(from: &request)
        prefix = try request.optional("prefix", "The beginning of the user names.")
        state = try request.optional("state", "Only users in this state. Without it all users who were not erased.")
    }
}

extension ListUsers: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        let (users, next) = try engine.users(
            prefix: prefix ?? "", state: state, after: page.user(), limit: page.limit, by: caller)
        return Answer(users: users, next: next)
    }
}
