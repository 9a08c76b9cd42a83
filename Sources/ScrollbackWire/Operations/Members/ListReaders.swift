package import ScrollbackModel

/// Lists the members who have read a message.
package struct ListReaders: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "readers", http: .get("/v1/conversations/{conversation}/messages/{id}/readers"),
        scope: .read, callers: .permission([.listMembers]), cost: .read, tag: .messages,
        summary: "List the members who have read a message",
        details: """
            Ordered by user name. The list leaves out the sender, and members who can't see the message. A page can be \
            empty and still have a cursor. Rooms have no readers. Without the setting `readReceipts` the request fails \
            with 403 `feature-off`.
            """,
        errors: [404])

    package typealias Answer = ListPage<MessageReader>

    package var conversation: ConversationID
    package var id: MessageID
    package var page: Paging

    package init(conversation: ConversationID, id: MessageID, page: Paging) {
        self.conversation = conversation
        self.id = id
        self.page = page
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        id = try request.required("id")
        page = try Paging(from: &request)
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        writer.field("id", id)
        page.writeMembers(to: &writer)
    }
}
