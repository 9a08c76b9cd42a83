package import ScrollbackModel

/// Excludes the messages so far from the caller's new devices.
package struct ExcludeFromNewDevices: StateOperation {
    package static let endpoint = Endpoint(
        frame: "stopRoaming", http: .delete("/v1/conversations/{conversation}/roaming"), scope: .account,
        callers: .permission([.read]), cost: .write, tag: .conversations,
        summary: "Exclude the messages so far from your new devices",
        details: "New devices don't load these messages by themselves. They can still request them.",
        errors: [404, 409])

    package let conversation: ConversationID
    package let change: StateChange

    package init(conversation: ConversationID, at position: EpochPosition? = nil) {
        self.conversation = conversation
        change = .excludeFromNewDevices(at: position)
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        change = try StateChange("stopRoaming", from: &request)
    }
}
