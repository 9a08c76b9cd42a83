package import ScrollbackModel
package import ScrollbackWire

/// Lists the incoming webhooks.
package struct ListIncomingWebhooks: ChatOperation {
    package static let endpoint = Endpoint(
        http: .get("/v1/admin/hooks"), scope: .admin, callers: .administrator, cost: .read, tag: .server,
        summary: "List the incoming webhooks", details: "Ordered by ID, without their secrets.")

    package struct Answer: OperationAnswer {
        package static let schema: JSONSchema? = .object([
            .init(
                "hooks",
                .array(
                    .object([
                        .init("hook", .component("Name")), .init("conversation", .component("ConversationID")),
                        .init("user", .component("UserID"), "The sender of the messages."),
                        .init("createdAt", .component("Time")),
                    ]))),
            .init("cursor", .string(), isRequired: false, "Pass it to get the next page. Absent on the last page."),
        ])

        package var hooks: [IncomingWebhookRow]
        /// The next page has the webhooks after this one.
        package var next: Identifier?

        package func writeMembers(to writer: inout JSONWriter) {
            writer.key("hooks")
            writer.array(hooks) { writer, row in
                writer.object { writer in
                    writer.field("hook", row.id.text)
                    writer.field("conversation", row.conversation)
                    writer.field("user", row.user)
                    writer.field("createdAt", row.createdAt)
                }
            }
            writer.field("cursor", next?.text)
        }
    }

    package var user: UserID?
    package var page: Paging

    package init(user: UserID? = nil, page: Paging) {
        self.user = user
        self.page = page
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        page = try Paging(from: &request)
        user = try request.optional("user", "Only webhooks that post as this user.")
    }
}

extension ListIncomingWebhooks: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        try engine.checkLimit(page.limit)
        let after = try page.cursor.map { (text) throws(ChatError) in try Identifier(text, parameter: "cursor") }
        let rows = try engine.store.read { try $0.incomingWebhooks(of: user, after: after, limit: page.limit + 1) }
        return Answer(
            hooks: Array(rows.prefix(page.limit)), next: rows.count > page.limit ? rows[page.limit - 1].id : nil)
    }
}
