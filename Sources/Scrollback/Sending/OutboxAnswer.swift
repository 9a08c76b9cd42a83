import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// The server's answer to a queued request.
enum OutboxAnswer: Sendable {
    case sent(SendResult)
    /// The message after the edit.
    case edited(Message)
    /// Accepted; the changed messages arrive as events.
    case done(ConversationID)

    init(to request: OutboxRequest, _ body: [UInt8]) throws(ChatError) {
        var reader = try JSONReader(body)
        switch request {
        case .send: self = .sent(try SendMessage.Answer(from: &reader))
        case .edit: self = .edited(try EditMessage.Answer(from: &reader).message)
        case .delete(let request): self = .done(request.conversation)
        case .addAction(let request): self = .done(request.conversation)
        case .removeAction(let request): self = .done(request.conversation)
        case .clear(let request): self = .done(request.conversation)
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
