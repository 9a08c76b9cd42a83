/// A user who has read a message.
public struct MessageReader: Hashable, Sendable, Identifiable {
    /// The user.
    public var id: UserID
    /// The newest sequence number that the user has read, at or above that of the message.
    public var readSeq: Seq

    /// Creates a reader.
    public init(id: UserID, readSeq: Seq) {
        self.id = id
        self.readSeq = readSeq
    }
}
