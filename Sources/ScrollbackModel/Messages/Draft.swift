/// What was typed and not sent.
public struct Draft: Hashable, Sendable {
    /// As far as it was typed.
    public var text: String
    /// Whom it calls by name.
    public var mentions: Mentions?
    /// The message it answers.
    public var replyTo: MessageID?

    /// A draft of a text.
    public init(_ text: String, mentions: Mentions? = nil, replyTo: MessageID? = nil) {
        self.text = text
        self.mentions = mentions
        self.replyTo = replyTo
    }
}

extension Draft: ExpressibleByStringLiteral {
    /// A draft of a text.
    public init(stringLiteral text: String) {
        self.init(text)
    }
}
