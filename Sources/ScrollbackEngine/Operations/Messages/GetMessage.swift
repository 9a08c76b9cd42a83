package import ScrollbackModel
package import ScrollbackWire

/// Gets one message.
package struct GetMessage: ChatOperation {
    package static let endpoint = Endpoint(
        http: .get("/v1/conversations/{conversation}/messages/{id}"), scope: .read,
        callers: .permission([.read]), cost: .read, tag: .messages, summary: "Get a message", errors: [404])

    package typealias Answer = Message

    package var conversation: ConversationID
    package var id: MessageID

    package init(conversation: ConversationID, id: MessageID) {
        self.conversation = conversation
        self.id = id
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        id = try request.required("id")
    }
}

extension GetMessage: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Message {
        try engine.message(id, in: conversation, by: caller)
    }
}
