/// An unsent text that the user typed.
public struct Draft: Hashable, Sendable {
    /// The text typed so far.
    public var text: String
    /// The mentions in the text.
    public var mentions: Mentions?
    /// The message that the draft replies to.
    public var replyTo: MessageID?

    /// Creates a draft.
    public init(_ text: String, mentions: Mentions? = nil, replyTo: MessageID? = nil) {
        self.text = text
        self.mentions = mentions
        self.replyTo = replyTo
    }
}

extension Draft: ExpressibleByStringLiteral {
    /// Creates a draft from a literal.
    public init(stringLiteral text: String) {
        self.init(text)
    }
}
