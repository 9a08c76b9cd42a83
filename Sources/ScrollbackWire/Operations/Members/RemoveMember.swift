package import ScrollbackModel

/// Removes a member from a conversation.
package struct RemoveMember: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "removeMember", http: .delete("/v1/conversations/{conversation}/members/{user}"),
        scope: .manage, callers: .permission([.removeMember, .leave]), cost: .write, tag: .members,
        summary: "Remove a member, or leave a conversation", errors: [404, 409])

    package var conversation: ConversationID
    package var user: UserID
    /// The key that makes a retry harmless.
    package var operation: MessageID?

    package init(conversation: ConversationID, user: UserID, operation: MessageID? = nil) {
        self.conversation = conversation
        self.user = user
        self.operation = operation
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        user = try request.required("user")
        operation = try request.optional("operation", PutMember.operationDescription)
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        writer.field("user", user)
        writer.field("operation", operation)
    }
}
