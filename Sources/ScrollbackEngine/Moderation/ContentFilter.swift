package import ScrollbackModel

/// A moderation filter that examines messages and edits before they are stored.
///
/// The built-in filter searches for the words of the setting `bannedWords`. An application that embeds the engine can
/// replace it. The filter does not examine imported messages. It runs on the thread that receives the request, or for
/// long messages on another thread, and must not block.
package protocol ContentFilter: Sendable {
    /// Whether the filter accepts everything, so that no message has to wait for it.
    var acceptsEverything: Bool { get }
    /// Returns whether a name of a user or a conversation, or a reaction, is allowed.
    func allows(_ text: String) -> Bool
    func evaluate(_ filterRequest: FilterRequest) -> FilterResult
}

extension ContentFilter {
    package var acceptsEverything: Bool { false }
    package func allows(_ text: String) -> Bool { true }
}

/// A message or edit for a filter to examine.
package struct FilterRequest: Sendable {
    package enum Kind: String, Sendable {
        /// A new message.
        case message
        /// New content for an existing message.
        case edit
    }

    package var kind: Kind
    /// The absolute name of the conversation.
    package var conversation: ConversationID
    package var sender: UserID
    /// The message's ID.
    package var id: MessageID
    package var content: MessageContent
    package var attributes: MessageAttributes

    /// The approximate number of bytes to examine.
    var bytes: Int {
        content.json.text.utf8.count + (attributes.push?.text.utf8.count ?? 0)
            + (attributes.mentions?.pushText?.utf8.count ?? 0)
    }

    /// Returns the request with the content and attributes that a filter replaced.
    func applying(_ filterResult: FilterResult) -> FilterRequest {
        var filterRequest = self
        if let json = filterResult.replacement {
            filterRequest.content = MessageContent(known: content.type, json: json)
        }
        if let attributes = filterResult.attributes { filterRequest.attributes = attributes }
        return filterRequest
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

/// The result of a filter.
package enum FilterResult: Sendable {
    case allowed
    /// The message is stored with other content of the same type and, if given, other attributes.
    case replaced(RawJSON, attributes: MessageAttributes? = nil)
    case refused(ChatError)

    /// Returns a refusal with a reason.
    package static func rejected(_ reason: String) -> FilterResult {
        .refused(ChatError(.contentRejected, reason, parameter: "content"))
    }

    /// The replacing content, if any.
    var replacement: RawJSON? { if case .replaced(let content, _) = self { content } else { nil } }
    var attributes: MessageAttributes? { if case .replaced(_, let attributes) = self { attributes } else { nil } }

    /// Throws the error of a refusal.
    func check() throws(ChatError) {
        if case .refused(let error) = self { throw error }
    }
}
