package import ScrollbackModel

/// Mutes or pins a conversation for the caller.
package struct SetOwnSettings: StateOperation {
    package static let endpoint = Endpoint(
        frame: "settings", http: .put("/v1/conversations/{conversation}/settings"), scope: .account,
        callers: .permission([.read]), cost: .write, tag: .conversations,
        summary: "Mute or pin a conversation for yourself",
        details: "Parameters that are missing or `null` keep their value.",
        errors: [404, 409])

    package let conversation: ConversationID
    package let change: StateChange

    package init(conversation: ConversationID, isMuted: Bool? = nil, isPinned: Bool? = nil) {
        self.conversation = conversation
        change = .settings(isMuted: isMuted, isPinned: isPinned)
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        change = try StateChange("settings", from: &request)
    }
}
