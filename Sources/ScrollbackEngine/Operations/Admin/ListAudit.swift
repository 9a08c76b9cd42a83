package import ScrollbackModel
package import ScrollbackWire

/// Lists the audit log.
package struct ListAudit: ChatOperation {
    package static let endpoint = Endpoint(
        http: .get("/v1/audit"), scope: .admin, callers: .administrator, cost: .read, tag: .server,
        summary: "List the acts of administrators and moderators",
        details: "Newest first. The setting `auditDays` bounds how long the server keeps them.", errors: [404])

    package struct Answer: OperationAnswer {
        package static let schema: JSONSchema? = .object([
            .init("acts", .array(AuditEntry.schema)),
            .init("cursor", .string(), isRequired: false, "Pass it to get the next page. Absent on the last page."),
        ])

        package var acts: [AuditEntry]
        /// The next page has the acts below this number.
        package var next: Int64?

        package func writeMembers(to writer: inout JSONWriter) {
            writer.key("acts")
            writer.array(acts) { writer, act in writer.object { act.writeMembers(to: &$0) } }
            writer.field("cursor", next.map { String($0) })
        }
    }

    package var actor: UserID?
    package var user: UserID?
    package var conversation: ConversationID?
    package var action: AuditRow.Action?
    package var page: Paging

    package init(
        actor: UserID? = nil, user: UserID? = nil, conversation: ConversationID? = nil,
        action: AuditRow.Action? = nil, page: Paging
    ) {
        self.actor = actor
        self.user = user
        self.conversation = conversation
        self.action = action
        self.page = page
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        page = try Paging(from: &request)
        actor = try request.optional("actor", "Only acts of this user.")
        user = try request.optional("user", "Only acts that concern this user.")
        conversation = try request.optional("conversation", "Only acts in this conversation.")
        action = try request.optional("action", "Only acts of this kind.")
    }
}

extension AuditRow.Action: ChoiceParameterValue {}

extension ListAudit: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        try engine.checkLimit(page.limit)
        let below = try page.number() ?? .max
        return try engine.store.read { store in
            var filter = AuditFilter(actor: actor, user: user, action: action)
            if let id = conversation?.absolute(for: caller.user) {
                guard let row = try store.conversation(id) else { throw Access.unknown }
                filter.conversation = row.number
            }
            let rows = try store.audit(filter, below: below, limit: page.limit + 1)
            return Answer(
                acts: try rows.prefix(page.limit).map { try AuditEntry($0, in: store) },
                next: rows.count > page.limit ? rows[page.limit - 1].number : nil)
        }
    }
}

/// An act in the audit log, with the name of its conversation.
package struct AuditEntry: Sendable {
    package static let schema = JSONSchema.object([
        .init("number", .integer(1...Int.max), "Numbers increase with time."),
        .init("at", .component("Time")),
        .init("actor", .component("UserID"), "The administrator or moderator."),
        .init("key", .string(), isRequired: false, "The ID of the key that signed the actor's token."),
        .init("tokenIssuedAt", .component("Time"), isRequired: false, "When the actor's token was issued."),
        .init("action", .string()),
        .init("user", .component("UserID"), isRequired: false, "The user whom the act concerns."),
        .init("conversation", .component("ConversationID"), isRequired: false),
        .init("detail", .string(), isRequired: false, "For example the names of the changed settings."),
    ])

    package var row: AuditRow
    package var conversation: ConversationID?

    package init(_ row: AuditRow, in store: any StoreReader) throws {
        self.row = row
        conversation = try row.conversation == 0 ? nil : store.conversation(numbered: row.conversation)?.id
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("number", row.number)
        writer.field("at", row.at)
        writer.field("actor", row.actor)
        writer.field("key", row.token?.key)
        writer.field("tokenIssuedAt", row.token?.issuedAt)
        writer.field("action", row.action)
        writer.field("user", row.user)
        writer.field("conversation", conversation)
        writer.field("detail", row.detail)
    }
}
