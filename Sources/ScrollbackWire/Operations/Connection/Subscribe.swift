package import ScrollbackModel

/// Subscribes the connection to rooms and community channels.
package struct Subscribe: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "subscribe", scope: .read, callers: .permission([.read]), cost: .read, tag: .conversations,
        summary: "Subscribe to rooms and community channels",
        details: """
            The server subscribes the connection to all of the conversations or, after an error, to none. The answer \
            has their heads. Every message after these heads arrives as an event.
            """)

    package typealias Answer = HeadList

    /// The most conversations in one request.
    package static let maximum = 500

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
