import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

extension ClientCore {
    /// Returns a new ID for a queued request.
    func newID() -> MessageID {
        var generator = SystemRandomNumberGenerator()
        return MessageID(at: clock(), using: &generator)
    }

    /// Stores a request in the outbox, which sends it after the earlier ones of the conversation.
    ///
    /// - Parameters:
    ///   - operation: The ID of the request, which makes retries idempotent.
    ///   - message: The message that the request changes, if any.
    ///   - apply: Changes the store in the same transaction.
    func queue(
        _ request: OutboxRequest, _ operation: MessageID, about message: MessageID? = nil, in id: ConversationID,
        _ apply: @escaping @Sendable (LocalWriter) throws -> Void = { _ in }
    ) async throws(ChatError) -> SendHandle {
        let now = clock()
        let item = try await store.write { writer in
            try apply(writer)
            return try writer.insert(request, operation, about: message, in: id, now: now)
        }
        changes.changed([id])
        mailbox.post(.queued(item))
        return SendHandle(id: operation, conversation: id, core: self, target: message ?? operation)
    }
}

extension ClientOperation {
    /// Checks the parameters as the server does.
    func validate() throws(ChatError) {
        let frame = try RequestFrame(own: frame(ref: 0))
        var reader = RequestReader(frame: frame.members, limits: .standard)
        _ = try Self(from: &reader)
    }
}
