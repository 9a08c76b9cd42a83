package import ScrollbackModel
package import ScrollbackWire

/// Lists the conversations of the server, or of one user.
package struct ListAllConversations: ChatOperation {
    package static let endpoint = Endpoint(
        http: .get("/v1/admin/conversations"), scope: .admin, callers: .administrator,
        cost: .read, tag: .conversations,
        summary: "List all conversations, or those of a user",
        details: "Ordered by kind and name. Conversations have their absolute names.")

    package struct Answer: OperationAnswer {
        package static let schema: JSONSchema? = .object([
            .init("conversations", .array(.component("ConversationEntry"))),
            .init("cursor", .string(), isRequired: false, "Pass it to get the next page. Absent on the last page."),
        ])

        package var conversations: [ConversationEntry]
        package var cursor: String?

        package func writeMembers(to writer: inout JSONWriter) {
            writer.key("conversations")
            writer.array(conversations) { writer, entry in writer.object { entry.writeMembers(to: &$0) } }
            writer.field("cursor", cursor)
        }
    }

    package var kind: ConversationKind?
    /// The beginning of the first part of the names.
    package var prefix: String?
    /// Only the conversations of this user.
    package var user: UserID?
    package var page: Paging

    package init(
        kind: ConversationKind? = nil, prefix: String? = nil, user: UserID? = nil, page: Paging
    ) throws(ChatError) {
        guard user == nil || kind == nil && prefix == nil else {
            throw .invalidParameter("user", "can't be combined with kind or prefix")
        }
        self.kind = kind
        self.prefix = prefix
        self.user = user
        self.page = page
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        let page = try Paging(from: &request)
        let kind: ConversationKind? = try request.optional("kind")
        let prefix: String? = try request.optional(
            "prefix",
            "The beginning of the name's first part: the group, the community, the room, or the first of two users.")
        let user: UserID? = try request.optional(
            "user", "Lists this user's conversations. It can't be combined with `kind` or `prefix`.")
        try self.init(kind: kind, prefix: prefix, user: user, page: page)
    }
}

extension ListAllConversations: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        if let user {
            let after = try page.cursor.map { (text) throws(ChatError) in
                guard let number = Int64(text), number >= 0 else { throw .unknownCursor }
                return number
            }
            let (conversations, next) = try engine.conversations(
                of: user, after: after ?? 0, limit: page.limit, by: caller)
            return Answer(conversations: conversations, cursor: next.map { String($0) })
        }
        let after = try page.cursor.map { (text) throws(ChatError) in
            guard let id = try? ConversationID(text), id.isAbsolute, kind == nil || kind == id.kind else {
                throw .unknownCursor
            }
            return id
        }
        let (conversations, next) = try engine.conversations(
            kind: kind, prefix: prefix ?? "", after: after, limit: page.limit, by: caller)
        return Answer(conversations: conversations, cursor: next?.description)
    }
}
