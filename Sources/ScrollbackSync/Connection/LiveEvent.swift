package import ScrollbackModel

/// What a connection says about a log without being asked.
package enum LiveEvent: Hashable, Sendable {
    case message(Message)
    case changed(ConversationID, Epoch, LogChange)
    case head(ConversationID, LogHead)
    /// The user took places out of their view, on another device or this one.
    case hidden(ConversationID, Epoch, [SeqRange])

    package var conversation: ConversationID {
        switch self {
        case .message(let message): message.conversation
        case .changed(let conversation, _, _), .head(let conversation, _),
            .hidden(let conversation, _, _):
            conversation
        }
    }
}
