package import ScrollbackModel

/// Lists the users who are banned from a conversation.
package struct ListBans: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "bans", http: .get("/v1/conversations/{conversation}/bans"), scope: .read,
        callers: .permission([.ban]), cost: .read, tag: .members,
        summary: "List the users who are banned from a conversation",
        details: "Ordered by user name. Bans that have ended are left out.",
        errors: [404])

    package typealias Answer = ListPage<Ban>

    package var conversation: ConversationID
    package var page: Paging

    package init(conversation: ConversationID, page: Paging) {
        self.conversation = conversation
        self.page = page
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        page = try Paging(from: &request)
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        page.writeMembers(to: &writer)
    }
}
