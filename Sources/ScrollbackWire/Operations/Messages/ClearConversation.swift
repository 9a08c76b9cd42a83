package import ScrollbackModel

/// Hides the history of a conversation from the caller.
package struct ClearConversation: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "clear", http: .put("/v1/conversations/{conversation}/clear"), scope: .account,
        callers: .permission([.read]), cost: .write, tag: .conversations,
        summary: "Hide the history up to a position from yourself",
        details: "Other members still see these messages.",
        errors: [404, 409])

    package typealias Answer = ReadSummary

    package var conversation: ConversationID
    /// The newest position to hide.
    package var seq: Seq
    package var epoch: Epoch

    package init(conversation: ConversationID, seq: Seq, epoch: Epoch) {
        self.conversation = conversation
        self.seq = seq
        self.epoch = epoch
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        seq = try request.required(
            "seq", Self.position, example: "12", "The newest position to hide: at most the head of the conversation."
        ) { (value) throws(ChatError) in try value.nonnegativeInteger() }
        epoch = try request.required("epoch", "The epoch that the position belongs to.")
    }

    private static let position = JSONSchema.integer(0...Int.max)

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        writer.field("seq", seq)
        writer.field("epoch", epoch)
    }
}
