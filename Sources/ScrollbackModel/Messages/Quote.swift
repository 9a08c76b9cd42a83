/// Text about another message, with a copy of that message.
///
/// The copy does not change when the message is edited or recalled. A quote is not a reply:
/// ``MessageAttributes/replyTo`` adds a message to a thread. A message can be both.
public struct Quote: Hashable, Sendable {
    /// The text about the quoted message.
    public var text: String
    /// The ID of the quoted message.
    public var id: MessageID
    /// The sender of the quoted message.
    public var sender: UserID
    /// The content of the quoted message.
    public var content: MessageContent

    /// Creates a quote.
    public init(_ text: String, id: MessageID, sender: UserID, content: MessageContent) {
        self.text = text
        self.id = id
        self.sender = sender
        self.content = content
    }
}

extension MessageContent {
    /// Returns content that quotes a message.
    ///
    /// A quote of a quote copies only the inner text, so that copies don't grow.
    ///
    /// - Throws: `invalid-parameter` if the message was recalled or deleted, or if it can't be decrypted here.
    public static func reference(_ text: String, to message: Message) throws(ChatError) -> MessageContent {
        guard let content = message.content else {
            throw .invalidParameter("to", "was recalled or deleted and has no content to quote")
        }
        guard content.encrypted == nil else {
            throw .invalidParameter("to", "can't be decrypted here and so can't be quoted")
        }
        let inner = content.quote.map { MessageContent.text($0.text) } ?? content
        return .reference(Quote(text, id: message.id, sender: message.sender, content: inner))
    }

    /// Returns the content of a quote.
    public static func reference(_ quote: Quote) -> MessageContent {
        MessageContent(.reference) { writer in
            writer.field("text", quote.text)
            writer.key("message")
            writer.object { writer in
                writer.field("id", quote.id)
                writer.field("sender", quote.sender)
                writer.field("type", quote.content.type)
                writer.field("content", quote.content.json)
            }
        }
    }

    /// The quote, if the content is one.
    public var quote: Quote? { type == .reference ? try? Quote(json) : nil }
}

extension Quote {
    /// Parses the JSON of a quote.
    ///
    /// - Throws: `invalid-parameter` naming the invalid member.
    init(_ json: RawJSON) throws(ChatError) {
        var text: String?
        var id: MessageID?
        var sender: UserID?
        var type: MessageType?
        var content: RawJSON?
        var reader = JSONReader(json.text, field: "content")
        try reader.object { (member, value) throws(ChatError) in
            switch member {
            case "text": text = try value.string()
            case "message":
                try value.object { (member, value) throws(ChatError) in
                    switch member {
                    case "id": id = try MessageID(try value.string())
                    case "sender": sender = try UserID(try value.string(), parameter: "sender")
                    case "type": type = try MessageType(try value.string())
                    case "content": content = try value.raw()
                    default: try value.skip()
                    }
                }
            default: try value.skip()
            }
        }
        guard let text else { throw .invalidParameter("content", #"of type reference must have a string "text""#) }
        guard let id, let sender, let type, let content else {
            throw .invalidParameter("message", "must be an object with id, sender, type and content")
        }
        self.init(text, id: id, sender: sender, content: try MessageContent(anyType: type, json: content))
    }
}
