package import ScrollbackModel

/// Removes an action from a message.
package struct RemoveAction: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "removeAction",
        http: .delete("/v1/conversations/{conversation}/messages/{id}/actions/{timetoken}"), scope: .write,
        callers: .permission([.act]), cost: .message, tag: .messages,
        summary: "Remove an action from a message",
        details: "Users can remove their own actions, moderators the actions of others too.",
        errors: [404])

    package var conversation: ConversationID
    package var id: MessageID
    package var action: ActionReference
    /// The key that makes a retry harmless.
    ///
    /// Only WebSocket requests have it.
    package var operation: MessageID?

    package init(conversation: ConversationID, id: MessageID, action: ActionReference, operation: MessageID?) {
        self.conversation = conversation
        self.id = id
        self.action = action
        self.operation = operation
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        id = try request.required("id")
        let limits = request.limits
        let time: Timetoken? = try request.omittable("timetoken", "The timetoken of the action.")
        let own = try request.omittable(
            "action", ActionContent.schema, example: ActionContent.example, on: .webSocket,
            "One of the caller's own actions, instead of a timetoken."
        ) { (value) throws(ChatError) in try ActionContent(from: &value, limits: limits) }
        operation = try request.operation(on: .webSocket)
        if let own {
            guard time == nil else {
                throw .invalidParameter("timetoken", "can't be used together with action: give one of them")
            }
            action = .own(type: own.type, value: own.value)
        } else {
            action = .at(try time.required("timetoken"))
        }
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        writer.field("id", id)
        switch action {
        case .at(let timetoken): writer.field("timetoken", timetoken)
        case .own(let type, let value):
            writer.key("action")
            ActionContent(type: type, value: value).write(to: &writer)
        }
        writer.field("operation", operation)
    }
}
