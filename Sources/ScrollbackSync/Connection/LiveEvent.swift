package import ScrollbackModel

/// An event about a log that the server sends without a request.
package enum LiveEvent: Hashable, Sendable {
    case message(Message)
    case changed(ConversationID, Epoch, LogChange)
    /// The state of a log, sent instead of its individual events.
    ///
    /// It has the newest message for the recents list if a message arrived, and whether earlier counts may have
    /// changed.
    case head(ConversationID, LogHead, last: Message? = nil, altersCounts: Bool = true)
    /// Sequence numbers that the user deleted for themselves, on this or another device.
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
