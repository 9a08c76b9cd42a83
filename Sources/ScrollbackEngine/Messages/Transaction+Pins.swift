import ScrollbackModel

// Actions whose meaning the server knows: pins, and votes in polls.

extension Transaction {
    /// The most pinned messages of a conversation.
    static let maximumPins = 100

    /// Checks an action that pins a message.
    func checkPin(_ value: String, of message: MessageRow, in row: ConversationRow) throws {
        guard value == MessageAction.pin else {
            throw ChatError.invalidParameter("value", "of an action of type pin must be \(MessageAction.pin)")
        }
        guard !message.actions.contains(where: { $0.type == MessageAction.pin }) else {
            throw ChatError(.conflict, "The message is pinned already.", parameter: "id")
        }
        guard try store.pins(in: row.number, below: nil, limit: Self.maximumPins).count < Self.maximumPins else {
            throw ChatError(
                .conflict, "The conversation has \(Self.maximumPins) pinned messages. Unpin one first.",
                limit: Self.maximumPins)
        }
    }

    /// Checks a vote in a poll.
    ///
    /// The server can't read the options of an encrypted poll, and accepts every value.
    ///
    /// - Parameter own: The user's actions on the message, which don't include this vote.
    /// - Returns: The vote that the new one replaces, if any.
    func checkVote(_ value: String, in message: MessageRow, own: [ActionRow]) throws -> ActionRow? {
        guard let poll = message.poll else { return nil }
        try checkIsOpen(poll)
        guard poll.options.indices.contains(where: { String($0) == value }) else {
            throw ChatError.invalidParameter(
                "value", "must be the index of an option, 0...\(poll.options.count - 1)",
                limit: poll.options.count - 1)
        }
        guard !poll.allowsSeveralVotes else { return nil }
        return own.first { vote in poll.options.indices.contains { vote.hasType(MessageAction.vote, value: "\($0)") } }
    }

    func checkIsOpen(_ poll: Poll) throws(ChatError) {
        guard !poll.isClosed else { throw ChatError(.conflict, "The poll is closed.", parameter: "id") }
    }

    /// Checks that an edit of a poll changes nothing but closes it.
    ///
    /// Users voted for the options as they were.
    func checkEdit(_ content: MessageContent, of message: MessageRow) throws {
        guard let old = message.poll, let new = content.poll else { return }
        var closed = old
        closed.isClosed = new.isClosed
        guard new == closed, new.isClosed || !old.isClosed else {
            throw ChatError.invalidParameter("content", "of a poll can't change, but the poll can be closed")
        }
    }

    /// Returns the action that pins a message, of any user.
    func pin(of message: MessageRow, in row: ConversationRow) throws -> ActionRow? {
        guard let user = message.actions.first(where: { $0.type == MessageAction.pin })?.senders.first else {
            return nil
        }
        return try store.actions(at: message.seq, by: user, in: row.number).first {
            $0.hasType(MessageAction.pin, value: MessageAction.pin)
        }
    }
}

extension MessageRow {
    /// The poll, if the message is one that the server can read.
    var poll: Poll? { content.flatMap { MessageContent(known: type, json: $0).poll } }
}
