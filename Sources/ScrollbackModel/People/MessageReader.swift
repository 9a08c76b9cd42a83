/// Somebody who has read a message.
public struct MessageReader: Hashable, Sendable, Identifiable {
    /// Who it is.
    public var id: UserID
    /// The newest place they have read: at or above the message's.
    public var readSeq: Seq

    /// Somebody, and how far they have read.
    public init(id: UserID, readSeq: Seq) {
        self.id = id
        self.readSeq = readSeq
    }
}
