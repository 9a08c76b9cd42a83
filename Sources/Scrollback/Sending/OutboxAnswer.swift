import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// The server's answer to a queued request.
enum OutboxAnswer: Sendable {
    case sent(SendResult)
    /// The message after the edit.
    case edited(Message)
    /// The user's state in a thread after the change.
    case thread(ConversationID, ThreadState)
    /// Accepted; the changes arrive as events.
    case done(ConversationID)

    init(to request: OutboxRequest, _ result: Result<[UInt8], ChatError>) throws(ChatError) {
        // A conversation that doesn't exist was deleted, by this request or before.
        if case .deleteConversation(let request) = request, case .failure(let error) = result,
            error.code == .unknownConversation
        {
            self = .done(request.conversation.logID)
            return
        }
        // The user may have been removed before they left.
        if case .leave(let request) = request, case .failure(let error) = result, error.code == .unknownMember {
            self = .done(request.conversation.logID)
            return
        }
        var reader = try JSONReader(try result.get())
        switch request {
        case .send: self = .sent(try SendMessage.Answer(from: &reader))
        case .edit: self = .edited(try EditMessage.Answer(from: &reader).message)
        case .putUser(let request): self = .done(.direct(request.user))
        case .delete(let request): self = .done(request.conversation)
        case .addAction(let request): self = .done(request.conversation)
        case .removeAction(let request): self = .done(request.conversation)
        case .clear(let request): self = .done(request.conversation)
        case .schedule(let request): self = .done(request.conversation.logID)
        case .changeThread(let request): self = .thread(request.conversation, try ThreadState(from: &reader))
        case .putMember(let request): self = .done(request.conversation.logID)
        case .removeMember(let request): self = .done(request.conversation.logID)
        case .leave(let request): self = .done(request.conversation.logID)
        case .putConversation(let request): self = .done(request.conversation.logID)
        case .deleteConversation(let request): self = .done(request.conversation.logID)
        }
    }

    /// Returns the input that applies the answer to the log, if any.
    func input(for request: OutboxRequest, _ user: UserID) -> LogInput? {
        switch (self, request) {
        case (.sent(let sent), .send(let request)):
            guard let position = sent.position else { return nil }
            let submission = request.submission
            return .sent(
                Message(
                    conversation: request.conversation, seq: position.seq, countedIndex: position.countedIndex,
                    id: sent.id,
                    timetoken: sent.timetoken, epoch: position.epoch, sender: user, type: submission.content.type,
                    content: sent.content.map { MessageContent(known: submission.content.type, json: $0) }
                        ?? submission.content, attributes: submission.attributes, thread: sent.thread))
        case (.edited(let message), _):
            return .live(.changed(message.conversation, message.epoch, .message(message)))
        default: return nil
        }
    }
}
