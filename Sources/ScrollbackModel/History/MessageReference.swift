/// Which message is meant, in which conversation.
public struct MessageReference: Hashable, Sendable {
    /// The conversation the message is in.
    public var conversation: ConversationID
    /// The message's id.
    public var id: MessageID

    /// A reference to a message of a conversation.
    public init(_ id: MessageID, in conversation: ConversationID) {
        self.conversation = conversation
        self.id = id
    }
}
