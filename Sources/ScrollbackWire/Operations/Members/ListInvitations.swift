package import ScrollbackModel

/// Lists the invitations to a conversation or, over the WebSocket, the caller's own.
package struct ListInvitations: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "invitations", http: .get("/v1/conversations/{conversation}/invitations"),
        scope: .read, callers: .permission([.invite]), cost: .read, tag: .members,
        summary: "List the open invitations to a conversation", details: "Ordered by user name.", errors: [404])

    package typealias Answer = ListPage<Invitation>

    /// `nil` lists the caller's own invitations.
    package var conversation: ConversationID?
    package var page: Paging

    package init(conversation: ConversationID?, page: Paging) {
        self.conversation = conversation
        self.page = page
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.omittable("conversation")
        page = try Paging(from: &request)
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        page.writeMembers(to: &writer)
    }
}
