/// The message that a push is about, as the receiving app sees it.
public struct PushTarget: Hashable, Sendable {
    /// The ID under which the receiver knows the conversation.
    public var conversation: ConversationID
    /// The sequence number of the message; `nil` if it is not stored.
    public var seq: Seq?
    /// The log that the sequence number belongs to.
    public var epoch: Epoch?
    /// The ID of the message.
    public var message: MessageID
    /// The sender of the message.
    public var sender: UserID
    /// The type of the message.
    public var type: MessageType
    /// The receiver; the device may have had another user when the push was sent.
    public var receiver: UserID

    /// Creates a push target.
    public init(
        conversation: ConversationID, seq: Seq?, epoch: Epoch?, message: MessageID, sender: UserID, type: MessageType,
        receiver: UserID
    ) {
        self.conversation = conversation
        self.seq = seq
        self.epoch = epoch
        self.message = message
        self.sender = sender
        self.type = type
        self.receiver = receiver
    }
}
