/// A user whose devices have received a message.
public struct MessageRecipient: Hashable, Sendable, Identifiable {
    /// The user.
    public var id: UserID
    /// The sequence number through which the user's devices have stored the messages, at or above that of the message.
    public var deliveredSeq: Seq

    /// Creates a recipient.
    public init(id: UserID, deliveredSeq: Seq) {
        self.id = id
        self.deliveredSeq = deliveredSeq
    }
}
