import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// What the server answered to something from the outbox.
enum OutboxAnswer: Sendable {
    case sent(SendResult)
    /// The message as it is now.
    case edited(Message)
    /// Done; what became of the messages comes as changes.
    case done(ConversationID)

    init(to request: ClientRequest, _ body: [UInt8]) throws(ChatError) {
        var reader = try JSONReader(body)
        switch request {
        case .edit:
            var message: Message?
            try reader.object { (name, value) throws(ChatError) in
                if name == "message" { message = try Message(from: &value) } else { try value.skip() }
            }
            self = .edited(try message.required("message"))
        case .delete(let id, _, _), .addAction(let id, _, _, _, _), .removeAction(let id, _, _, _),
            .clear(let id, _, _):
            self = .done(id)
        default: self = .sent(try SendResult(from: &reader))
        }
    }

    /// What it brings to the log.
    func input(for request: ClientRequest, _ user: UserID) -> LogInput? {
        switch (self, request) {
        case (.sent(let sent), .send(let conversation, let submission)):
            guard let position = sent.position else { return nil }
            return .sent(
                Message(
                    conversation: conversation, seq: position.seq, n: position.n, id: sent.id,
                    timetoken: sent.timetoken, epoch: position.epoch, sender: user, type: submission.content.type,
                    content: sent.content.map { MessageContent(known: submission.content.type, json: $0) }
                        ?? submission.content, attributes: submission.attributes, thread: sent.thread))
        case (.edited(let message), _):
            return .live(.changed(message.conversation, message.epoch, .message(message)))
        default: return nil
        }
    }
}
