package import ScrollbackModel

/// Signals that the caller is typing in a conversation, or has stopped.
package struct SignalTyping: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "typing", scope: .write, callers: .permission([.send]), cost: .write, tag: .messages,
        summary: "Signal that you are typing, or have stopped",
        details: """
            The server forwards at most one signal a second for each conversation and drops the others without an \
            error. It doesn't store signals.
            """)

    package var conversation: ConversationID
    package var isTyping: Bool

    package init(conversation: ConversationID, isTyping: Bool) {
        self.conversation = conversation
        self.isTyping = isTyping
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        isTyping = try request.required("isTyping")
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        writer.field("isTyping", isTyping)
    }
}
