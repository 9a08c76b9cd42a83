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
    ///   - known: The quote in the stored version of the message. An edit can keep it if the quoted message is gone.
    /// - Throws: `unknown-message` for a message that does not exist or is not visible to the sender.
    ///   `invalid-parameter` if the quote names another sender or type than the quoted message has, or contains another
    ///   quote than the quoted message does.
    func checkReferences(
        of content: MessageContent, replyTo: MessageID?, by sender: Caller, in row: ConversationRow?,
        permissions: Permissions, known: Quote? = nil
    ) throws {
        if let replyTo, try referenced(replyTo, by: sender, in: row, permissions: permissions) == nil {
            throw Self.unknownReference(replyTo, "replyTo")
        }
        guard content.type == .reference, content.encrypted == nil, let quote = content.quote else { return }
        if let known, quote.id == known.id, quote.sender == known.sender, quote.content.type == known.content.type {
            return try quote.checkInner(known.content.quote)
        }
        guard
            let message = try referenced(quote.id, by: sender, in: row, permissions: permissions)
                ?? forwarded(quote.id, by: sender, permissions: permissions)
        else {
            throw Self.unknownReference(quote.id, "message.id")
        }
        try quote.check(sentBy: message.sender, as: message.type)
        try quote.checkInner(message.quote)
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
            return try access.shown(message, in: store)
        }
        return nil
    }

    private static func unknownReference(_ id: MessageID, _ parameter: String) -> ChatError {
        ChatError(
            .unknownMessage, "Message \(id) does not exist, or you may not see it.",
            parameter: parameter)
    }
}

extension Quote {
    /// Checks the sender and the type that a quote names.
    ///
    /// - Parameter path: Where the quote is in the content of the message.
    fileprivate func check(
        sentBy sender: UserID, as type: MessageType, at path: String = "message"
    ) throws(ChatError) {
        // The name of an erased user was replaced after the client copied it.
        guard self.sender == sender || sender.isErasedUser else {
            throw .invalidParameter("\(path).sender", "must be \(sender), who sent the quoted message")
        }
        // A quote of a quote can copy only its text.
        guard content.type == type || type == .reference && content.type == .text else {
            throw .invalidParameter("\(path).type", "must be \(type), the type of the quoted message")
        }
    }

    /// Checks that a quote inside of this quote is a copy of the one that the quoted message has.
    ///
    /// That one was checked when the quoted message was sent. Its message need not be visible to the sender.
    ///
    /// - Parameters:
    ///   - original: The quote in the quoted message, if it has one that the server can read.
    ///   - path: Where this quote is in the content of the message.
    fileprivate func checkInner(_ original: Quote?, at path: String = "message") throws(ChatError) {
        guard let inner = content.quote else { return }
        let innerPath = "\(path).content.message"
        guard let original, inner.id == original.id else {
            throw .invalidParameter(
                "\(innerPath).id",
                "must be the message that \(id) quotes. Copy the text of that quote alone, with the type text.")
        }
        try inner.check(sentBy: original.sender, as: original.content.type, at: innerPath)
        try inner.checkInner(original.content.quote, at: innerPath)
    }
}

extension MessageRow {
    /// The quote, if the message has one that the server can read.
    var quote: Quote? { content.flatMap { MessageContent(known: type, json: $0).quote } }
}
