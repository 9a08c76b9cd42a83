package import ScrollbackModel

/// Lists the members of a conversation.
package struct ListMembers: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "members", http: .get("/v1/conversations/{conversation}/members"), scope: .read,
        callers: .permission([.listMembers]), cost: .read, tag: .members,
        summary: "List the members of a conversation",
        details: "Ordered by user name. The members of a public channel are those of its community.",
        errors: [404])

    package typealias Answer = ListPage<Member>

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
