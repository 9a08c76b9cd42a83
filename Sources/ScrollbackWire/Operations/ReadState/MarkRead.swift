package import ScrollbackModel

/// Moves the caller's read position up.
package struct MarkRead: StateOperation {
    package static let endpoint = Endpoint(
        frame: "read", http: .put("/v1/conversations/{conversation}/read"), scope: .account,
        callers: .permission([.read]), cost: .write, tag: .conversations,
        summary: "Move your read position up",
        details: "The position never moves down.",
        errors: [404, 409])

    package let conversation: ConversationID
    package let change: StateChange

    package init(conversation: ConversationID, seq: Seq, epoch: Epoch, userRev: Int64? = nil) {
        self.conversation = conversation
        change = .read(seq: seq, epoch: epoch, userRev: userRev)
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        change = try StateChange("read", from: &request)
    }
}
