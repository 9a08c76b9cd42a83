package import ScrollbackModel

/// Returns the heads of conversations without subscribing to them.
package struct GetHeads: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "heads", scope: .read, callers: .anyUser, cost: .read, tag: .conversations,
        summary: "Get the heads of conversations",
        details: """
            Conversations that you may not see are left out. An answer has about 512 KiB of heads; `rest` names the \
            conversations that didn't fit.
            """)

    package typealias Answer = HeadList

    /// The most conversations in one request.
    package static let maximum = 100

    package var conversations: [ConversationID]

    package init(_ conversations: [ConversationID]) {
        self.conversations = conversations
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversations = try request.conversations(limit: Self.maximum)
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.conversations(conversations)
    }
}
