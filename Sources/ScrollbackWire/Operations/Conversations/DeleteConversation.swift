package import ScrollbackModel

/// Deletes a conversation.
package struct DeleteConversation: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "deleteConversation", http: .delete("/v1/conversations/{conversation}"),
        scope: .manage, callers: .permission([.delete]), cost: .write, tag: .conversations,
        summary: "Delete a conversation",
        details: "A new conversation with the same ID has another epoch.",
        errors: [404])

    package var conversation: ConversationID

    package init(conversation: ConversationID) {
        self.conversation = conversation
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
    }
}
