package import ScrollbackModel

/// Looks at what is said before it is stored.
///
/// The built-in one looks for the words of the setting `bannedWords`; whoever embeds the engine may put another in its
/// place. It is asked for messages and edits and not for imports, on the thread that takes the request, and on another where
/// what is said is long; it must not wait.
package protocol ContentFilter: Sendable {
    /// Whether it looks at nothing now: then nothing is kept waiting for it.
    var isIdle: Bool { get }
    func judge(_ proposal: Proposal) -> Judgement
}

extension ContentFilter {
    package var isIdle: Bool { false }
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

    /// About how much of it there is to look at.
    var bytes: Int {
        content.json.text.utf8.count + (attributes.push?.text.utf8.count ?? 0)
            + (attributes.mentions?.pushText?.utf8.count ?? 0)
    }

    /// The same with what is stored in place of what was sent.
    func judged(_ judgement: Judgement) -> Proposal {
        var proposal = self
        if let json = judgement.replacement { proposal.content = MessageContent(known: content.type, json: json) }
        if let attributes = judgement.attributes { proposal.attributes = attributes }
        return proposal
    }

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
    /// Other content of the same type is stored in its place, and other attributes where there are any.
    case replaced(RawJSON, attributes: MessageAttributes? = nil)
    case refused(ChatError)

    /// A refusal for a reason.
    package static func rejected(_ reason: String) -> Judgement {
        .refused(ChatError(.contentRejected, reason, parameter: "content"))
    }

    /// What is stored in place of what was sent.
    var replacement: RawJSON? { if case .replaced(let content, _) = self { content } else { nil } }
    var attributes: MessageAttributes? { if case .replaced(_, let attributes) = self { attributes } else { nil } }

    /// - Throws: the refusal, if it is one.
    func check() throws(ChatError) {
        if case .refused(let error) = self { throw error }
    }
}
