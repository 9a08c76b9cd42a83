package import ScrollbackModel

/// Removes a conversation from the caller's list until the next message.
package struct RemoveRecent: StateOperation {
    package static let endpoint = Endpoint(
        frame: "removeRecent", http: .delete("/v1/conversations/{conversation}/recent"),
        scope: .account,
        callers: .permission([.read]), cost: .write, tag: .conversations,
        summary: "Remove a conversation from your list until the next message",
        details: "Messages and counts stay.",
        errors: [404, 409])

    package let conversation: ConversationID
    package let change: StateChange

    package init(conversation: ConversationID, at position: EpochPosition? = nil, excludesFromNewDevices: Bool = false)
    {
        self.conversation = conversation
        change = .removeRecent(at: position, excludesFromNewDevices: excludesFromNewDevices)
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        change = try StateChange("removeRecent", from: &request)
    }
}
