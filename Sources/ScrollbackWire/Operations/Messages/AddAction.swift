package import ScrollbackModel

/// Adds a reaction or another action to a message.
package struct AddAction: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "action", http: .post("/v1/conversations/{conversation}/messages/{id}/actions"),
        scope: .write, callers: .permission([.act]), cost: .message, tag: .messages,
        summary: "Add a reaction or another action to a message",
        details: "Each user can add an action of the same type and value once. Adding it again is a conflict.",
        errors: [404, 409])

    /// The new action.
    package struct Answer: DecodableAnswer {
        package static let schema: JSONSchema? = .component("Action")
        package static let statuses = [201]

        package var action: MessageAction

        package init(action: MessageAction) {
            self.action = action
        }

        package init(from reader: inout JSONReader) throws(ChatError) {
            var action: MessageAction?
            try reader.object { (name, value) throws(ChatError) in
                if name == "action" { action = try MessageAction(from: &value) } else { try value.skip() }
            }
            self.init(action: try action.required("action"))
        }

        package func writeMembers(to writer: inout JSONWriter) {
            writer.key("action")
            action.write(to: &writer)
        }

        package func writeBody(to writer: inout JSONWriter) {
            action.writeMembers(to: &writer)
        }
    }

    package var conversation: ConversationID
    package var id: MessageID
    package var action: ActionContent
    /// The key that makes a retry harmless.
    ///
    /// WebSocket requests must have it.
    package var operation: MessageID?

    package init(conversation: ConversationID, id: MessageID, action: ActionContent, operation: MessageID?) {
        self.conversation = conversation
        self.id = id
        self.action = action
        self.operation = operation
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        id = try request.required("id")
        action = try request.nested("action", ActionContent.schema) { (request) throws(ChatError) in
            try ActionContent(from: &request)
        }
        operation = try request.operation()
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        writer.field("id", id)
        writer.field("operation", operation)
        writer.key("action")
        action.write(to: &writer)
    }
}
