package import ScrollbackModel

/// Follows or reads a thread.
package struct ChangeThread: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "thread", http: .put("/v1/conversations/{conversation}/threads/{thread}"),
        scope: .account, callers: .permission([.read]), cost: .write, tag: .messages,
        summary: "Follow or read a thread",
        details: """
            Parameters that are missing or `null` keep their value. The read position never moves down. The unread \
            count of the conversation stays the same.
            """,
        errors: [404, 409])

    package typealias Answer = ThreadState

    package var conversation: ConversationID
    /// The thread's first message.
    package var thread: MessageID
    package var change: ThreadChange

    package init(conversation: ConversationID, thread: MessageID, _ change: ThreadChange) {
        self.conversation = conversation
        self.thread = thread
        self.change = change
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        thread = try request.required("thread", "The ID of the thread's first message.")
        let isFollowed: Bool? = try request.optional("followed", "Whether you follow the thread.")
        let seq: Int64? = try request.optional("seq", "The read position, at most the conversation's newest place.")
        let epoch: Epoch? = try request.optional("epoch", "The epoch of the log that `seq` belongs to.")
        change = ThreadChange(isFollowed: isFollowed)
        if let seq { change.read = EpochPosition(seq: seq, epoch: try epoch.required("epoch")) }
        guard isFollowed != nil || seq != nil else {
            throw .invalidParameter("followed", "is missing: give followed, or seq with epoch, or all three")
        }
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        writer.field("thread", thread)
        change.writeMembers(to: &writer)
    }
}

extension ThreadState: DecodableAnswer {
    package static let schema: JSONSchema? = .component("ThreadState")
}
