package import ScrollbackModel

/// Lifts a user's ban from a conversation.
package struct UnbanUser: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "unban", http: .delete("/v1/conversations/{conversation}/bans/{user}"), scope: .manage,
        callers: .permission([.ban]), cost: .write, tag: .members,
        summary: "Lift a user's ban from a conversation",
        details: "The user can be added or invited again. Lifting the ban of a user who is not banned succeeds.",
        errors: [404])

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
