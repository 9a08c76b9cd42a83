package import ScrollbackModel

/// Lists the members whose devices have received a message.
package struct ListRecipients: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "recipients", http: .get("/v1/conversations/{conversation}/messages/{id}/recipients"),
        scope: .read, callers: .permission([.listMembers]), cost: .read, tag: .messages,
        summary: "List the members whose devices have received a message",
        details: """
            Ordered by user name. A member who has read the message has received it. The list leaves out the sender, \
            and members who can't see the message. Direct conversations and groups of at most 20 members have \
            delivery receipts. Elsewhere, and without the setting `readReceipts`, the request fails with 403 \
            `feature-off`.
            """,
        errors: [404])

    package typealias Answer = ListPage<MessageRecipient>

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
