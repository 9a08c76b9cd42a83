package import ScrollbackModel

/// Puts a removed conversation back into the caller's list.
package struct AddRecent: StateOperation {
    package static let endpoint = Endpoint(
        frame: "addRecent", http: .put("/v1/conversations/{conversation}/recent"), scope: .account,
        callers: .permission([.read]), cost: .write, tag: .conversations,
        summary: "Put a removed conversation back into your list",
        errors: [404, 409])

    package let conversation: ConversationID
    package let change: StateChange

    package init(conversation: ConversationID) {
        self.conversation = conversation
        change = .addRecent
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        change = try StateChange("addRecent", from: &request)
    }
}
