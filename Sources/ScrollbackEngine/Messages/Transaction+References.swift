import ScrollbackModel

extension Transaction {
    /// Checks that the messages that a message replies to and quotes exist, and that its sender can see them.
    ///
    /// A reply is in the same conversation as the message. A quote can be of a message in another conversation.
    ///
    /// A quote copies a message, so without this check a sender could make up what others said. The copied text is not
    /// compared, because the quoted message can be edited after it was copied. The content of an encrypted quote is
    /// not readable here.
    ///
    /// - Parameters:
    ///   - row: The conversation, or `nil` if it does not exist yet.
    ///   - known: The ID of the message that the stored version of the message quotes.
    /// - Throws: `unknown-message` for a message that does not exist or is not visible to the sender.
    ///   `invalid-parameter` if the quote names another sender or type than the quoted message has.
    func checkReferences(
        of content: MessageContent, replyTo: MessageID?, by sender: Caller, in row: ConversationRow?,
        permissions: Permissions, known: MessageID? = nil
    ) throws {
        if let replyTo, try referenced(replyTo, by: sender, in: row, permissions: permissions) == nil {
            throw Self.unknownReference(replyTo, "replyTo")
        }
        guard content.type == .reference, content.encrypted == nil, let quote = content.quote, quote.id != known else {
            return
        }
        guard
            let message = try referenced(quote.id, by: sender, in: row, permissions: permissions)
                ?? forwarded(quote.id, by: sender, permissions: permissions)
        else {
            throw Self.unknownReference(quote.id, "message.id")
        }
        // The name of an erased user was replaced after the client copied it.
        guard quote.sender == message.sender || message.sender.isErasedUser else {
            throw ChatError.invalidParameter("message.sender", "must be \(message.sender), who sent the quoted message")
        }
        guard quote.content.type == message.type || message.type == .reference && quote.content.type == .text else {
            throw ChatError.invalidParameter("message.type", "must be \(message.type), the type of the quoted message")
        }
    }

    private func referenced(
        _ id: MessageID, by sender: Caller, in row: ConversationRow?, permissions: Permissions
    ) throws -> MessageRow? {
        guard let row else { return nil }
        let seesAll = permissions[.read, row.id.kind].isMet(by: nil, isAdmin: sender.isAdmin)
        return try visibleMessage(id, to: sender.user, seesAll: seesAll, in: row)
    }

    /// The most conversations in which to look for a quoted message, because anyone can use its ID again elsewhere.
    private static let maximumCopies = 20

    /// Returns a message of any conversation that the sender can see.
    private func forwarded(_ id: MessageID, by sender: Caller, permissions: Permissions) throws -> MessageRow? {
        // The access reads the rows of this batch from the store.
        try flush()
        for number in try store.conversations(withMessage: id, limit: Self.maximumCopies) {
            guard let row = try store.conversation(numbered: number), !row.isDeleted,
                let access = try Access(
                    ifVisible: row, to: sender, in: store, permissions: permissions, generation: generation,
                    now: now.date),
                let message = try store.message(id, in: number), access.visible.contains(message.seq)
            else { continue }
            return message
        }
        return nil
    }

    private static func unknownReference(_ id: MessageID, _ parameter: String) -> ChatError {
        ChatError(
            .unknownMessage, "Message \(id) does not exist, or you may not see it.",
            parameter: parameter)
    }
}
