package import ScrollbackModel

/// Ends the connection's subscriptions to conversations.
package struct Unsubscribe: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "unsubscribe", scope: .read, callers: .anyUser, cost: .read, tag: .conversations,
        summary: "End subscriptions to conversations",
        details: "Conversations without a subscription are ignored.")

    package var conversations: [ConversationID]

    package init(_ conversations: [ConversationID]) {
        self.conversations = conversations
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversations = try request.conversations(limit: Subscribe.maximum)
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.conversations(conversations)
    }
}
