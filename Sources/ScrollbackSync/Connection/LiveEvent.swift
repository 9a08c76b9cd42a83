package import ScrollbackModel

/// What a connection says about a log without being asked.
package enum LiveEvent: Hashable, Sendable {
    case message(Message)
    case changed(ConversationID, Epoch, LogChange)
    /// Where a log stands of which not everything is heard, with the newest message the list shows where one came, and
    /// whether what counted before may count no more.
    case head(ConversationID, LogHead, last: Message? = nil, altersCounts: Bool = true)
    /// The user took places out of their view, on another device or this one.
    case hidden(ConversationID, Epoch, [SeqRange])

    package var conversation: ConversationID {
        switch self {
        case .message(let message): message.conversation
        case .changed(let conversation, _, _), .head(let conversation, _, _, _),
            .hidden(let conversation, _, _):
            conversation
        }
    }
}
