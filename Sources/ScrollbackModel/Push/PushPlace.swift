/// Which message a push is about: what a receiving app finds beside the text.
public struct PushPlace: Hashable, Sendable {
    /// As its receiver names it.
    public var conversation: ConversationID
    /// Where the message stands; nothing of one that is not stored.
    public var seq: Seq?
    /// The log the place is of.
    public var epoch: Epoch?
    /// The message.
    public var message: MessageID
    /// Who sent it.
    public var sender: UserID
    /// What it is.
    public var type: MessageType
    /// Whom it is for: a device may have had another user when it was sent.
    public var receiver: UserID

    /// A message's place.
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
