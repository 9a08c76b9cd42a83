/// A reference to a message in a conversation.
public struct MessageReference: Hashable, Sendable {
    /// The conversation.
    public var conversation: ConversationID
    /// The ID of the message.
    public var id: MessageID

    /// Creates a reference to a message.
    public init(_ id: MessageID, in conversation: ConversationID) {
        self.conversation = conversation
        self.id = id
    }
}
