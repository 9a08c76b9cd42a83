/// Text about a message, with a copy of that message as it was.
///
/// The copy stays as it is when the message is edited or recalled. A quote is no reply: ``MessageAttributes/replyTo`` puts
/// a message into a thread, and a quote may do both.
public struct Quote: Hashable, Sendable {
    /// What is said about it.
    public var text: String
    /// The id of the message that is quoted.
    public var id: MessageID
    /// Who sent that.
    public var sender: UserID
    /// What that says.
    public var content: MessageContent

    /// A quote of what somebody sent.
    public init(_ text: String, id: MessageID, sender: UserID, content: MessageContent) {
        self.text = text
        self.id = id
        self.sender = sender
        self.content = content
    }
}

extension MessageContent {
    /// Text about a message, with a copy of that message.
    ///
    /// A quote of a quote has the inner text alone, so that copies do not grow.
    ///
    /// - Throws: `invalid-parameter` when the message was recalled or deleted, so that nothing is left of it to quote, or
    ///   can't be read here.
    public static func reference(_ text: String, to message: Message) throws(ChatError) -> MessageContent {
        guard let content = message.content else {
            throw .invalidParameter("to", "was recalled or deleted: there is nothing left to quote")
        }
        guard content.encrypted == nil else {
            throw .invalidParameter("to", "can't be read here: there is nothing to quote")
        }
        let inner = content.quote.map { MessageContent.text($0.text) } ?? content
        return .reference(Quote(text, id: message.id, sender: message.sender, content: inner))
    }

    /// A quote of one's own making.
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

    /// The quote, where the content is one.
    public var quote: Quote? { type == .reference ? try? Quote(json) : nil }
}

extension Quote {
    /// - Throws: `invalid-parameter` naming the member that is wrong.
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
        self.init(text, id: id, sender: sender, content: try MessageContent(type: type, json: content))
    }
}
