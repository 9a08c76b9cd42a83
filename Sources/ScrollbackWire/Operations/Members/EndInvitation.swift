package import ScrollbackModel

/// Revokes or declines an invitation.
package struct EndInvitation: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "endInvitation",
        http: .delete("/v1/conversations/{conversation}/invitations/{user}"), scope: .manage,
        callers: .permission([.invite]), cost: .write, tag: .members,
        summary: "Revoke an invitation, or decline your own", errors: [404])

    package var conversation: ConversationID
    package var user: UserID

    package init(conversation: ConversationID, user: UserID) {
        self.conversation = conversation
        self.user = user
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        user = try request.required("user")
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        writer.field("user", user)
    }
}
