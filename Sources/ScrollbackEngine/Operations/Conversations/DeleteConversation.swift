package import ScrollbackModel
package import ScrollbackWire

/// Deletes a conversation.
package struct DeleteConversation: ChatOperation {
    package static let endpoint = Endpoint(
        "deleteConversation", http: .delete("/v1/conversations/{conversation}"), scope: .manage,
        caller: .permission([.delete]), cost: .write, tag: .conversations,
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
}

extension DeleteConversation: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<EmptyAnswer>) {
        context.engine.deleteConversation(conversation, by: context.caller) { completion($0.map { EmptyAnswer() }) }
    }
}
