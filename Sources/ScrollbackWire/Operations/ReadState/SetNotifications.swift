package import ScrollbackModel

/// Sets which messages of a conversation are pushed to the caller.
package struct SetNotifications: StateOperation {
    package static let endpoint = Endpoint(
        frame: "notifications", http: .put("/v1/conversations/{conversation}/notifications"),
        scope: .account,
        callers: .permission([.read]), cost: .write, tag: .conversations,
        summary: "Set which messages of a conversation are pushed to you",
        details: """
            The request replaces the level. If `notifications` is missing or `null`, as in `{}`, it removes the level, \
            and your default applies. The server pushes nothing from a muted conversation unless the level is \
            `mentions`.
            """,
        errors: [404, 409])

    package let conversation: ConversationID
    package let change: StateChange

    package init(conversation: ConversationID, level: NotificationLevel?) {
        self.conversation = conversation
        change = .notifications(level)
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        change = try StateChange("notifications", from: &request)
    }
}
