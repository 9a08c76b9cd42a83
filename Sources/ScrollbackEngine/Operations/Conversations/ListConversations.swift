package import ScrollbackModel
package import ScrollbackWire

/// Lists the caller's recent conversations.
package struct ListConversations: ChatOperation {
    package static let endpoint = Endpoint(
        http: .get("/v1/conversations"), scope: .read, callers: .anyUser, cost: .read,
        tag: .conversations,
        summary: "List your recent conversations", details: "Pinned conversations first, then newest activity first.")

    package struct Answer: OperationAnswer {
        package static let schema: JSONSchema? = .object([
            .init("conversations", .array(.component("Head"))),
            .init("cursor", .string(), isRequired: false, "Pass it to get the next page. Absent on the last page."),
            .init("totals", .component("UnreadTotals"), isRequired: false, "Only with `include=totals`."),
        ])

        package var conversations: [ConversationHead]
        package var cursor: String?
        package var totals: UnreadTotals?

        package func writeMembers(to writer: inout JSONWriter) {
            writer.key("conversations")
            writer.array(conversations) { $1.write(to: &$0) }
            writer.field("cursor", cursor)
            if let totals {
                writer.key("totals")
                totals.write(to: &writer)
            }
        }
    }

    package var filter: RecentsListFilter
    package var includesTotals: Bool
    package var page: Paging

    package init(filter: RecentsListFilter = RecentsListFilter(), includesTotals: Bool = false, page: Paging) {
        self.filter = filter
        self.includesTotals = includesTotals
        self.page = page
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        page = try Paging(from: &request)
        filter = RecentsListFilter()
        filter.kind = try request.optional("kind", "Only conversations of this kind.")
        filter.isMuted = try request.optional("muted", "Only muted conversations, or only others.")
        let isUnread: Bool? = try request.optional(
            "unread", "If true, only conversations with unread messages or mentions, or marked as unread.")
        filter.isUnread = isUnread ?? false
        let addition: RecentsAddition? = try request.optional(
            "include", "Adds the number of unread messages and mentions in all conversations.")
        includesTotals = addition != nil
    }
}

/// What the answer has besides the conversations.
private enum RecentsAddition: String, ChoiceParameterValue {
    case totals
}

extension ListConversations: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        let (heads, next) = try engine.recents(filter, limit: page.limit, cursor: page.cursor, by: caller)
        return Answer(
            conversations: heads, cursor: next, totals: includesTotals ? try engine.totals(by: caller) : nil)
    }
}
