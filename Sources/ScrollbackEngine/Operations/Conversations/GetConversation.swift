package import ScrollbackModel
package import ScrollbackWire

/// Returns a conversation's head and the caller's state in it.
package struct GetConversation: ChatOperation {
    package static let endpoint = Endpoint(
        "getConversation", http: .get("/v1/conversations/{conversation}"), scope: .read, caller: .permission([.read]),
        cost: .read, tag: .conversations, summary: "Get a conversation's head and your state in it", errors: [404])

    package typealias Answer = ConversationHead

    package var conversation: ConversationID

    package init(conversation: ConversationID) {
        self.conversation = conversation
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
    }
}

extension GetConversation: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> ConversationHead {
        try engine.head(of: conversation, by: caller)
    }
}
