package import ScrollbackModel

/// Marks a conversation as unread until the next read.
package struct MarkUnread: StateOperation {
    package static let endpoint = Endpoint(
        frame: "markUnread", http: .put("/v1/conversations/{conversation}/unread"), scope: .account,
        callers: .permission([.read]), cost: .write, tag: .conversations,
        summary: "Mark a conversation as unread",
        details: """
            The mark stays until you read the conversation again. The counts of unread messages stay the same.
            """,
        errors: [404, 409])

    package let conversation: ConversationID
    package let change: StateChange

    package init(conversation: ConversationID) {
        self.conversation = conversation
        change = .markUnread
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        change = try StateChange("markUnread", from: &request)
    }
}
