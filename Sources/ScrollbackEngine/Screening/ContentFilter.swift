package import ScrollbackModel

/// Looks at what is said before it is stored.
///
/// The built-in one looks for the words of the setting `bannedWords`; whoever embeds the engine may put another in its
/// place. It is asked on the thread that takes the request, for messages and edits and not for imports, and must not wait.
package protocol ContentFilter: Sendable {
    func judge(_ proposal: Proposal) -> Judgement
}

/// What somebody wants to say.
package struct Proposal: Sendable {
    package enum Kind: String, Sendable {
        /// A message.
        case message
        /// Other content for a message that is there.
        case edit
    }

    package var kind: Kind
    /// Its absolute name.
    package var conversation: ConversationID
    package var sender: UserID
    /// The message's.
    package var id: MessageID
    package var content: MessageContent
    package var attributes: MessageAttributes

    package init(
        _ kind: Kind = .message, in conversation: ConversationID, by sender: UserID, id: MessageID,
        content: MessageContent, attributes: MessageAttributes = .init()
    ) {
        self.kind = kind
        self.conversation = conversation
        self.sender = sender
        self.id = id
        self.content = content
        self.attributes = attributes
    }
}

/// What becomes of it.
package enum Judgement: Sendable {
    case allowed
    /// Other content of the same type is stored in its place.
    case replaced(RawJSON)
    case refused(ChatError)

    /// A refusal for a reason.
    package static func rejected(_ reason: String) -> Judgement {
        .refused(ChatError(.contentRejected, reason, parameter: "content"))
    }

    /// What is stored in place of what was sent.
    var replacement: RawJSON? { if case .replaced(let content) = self { content } else { nil } }

    /// - Throws: the refusal, if it is one.
    func check() throws(ChatError) {
        if case .refused(let error) = self { throw error }
    }
}
