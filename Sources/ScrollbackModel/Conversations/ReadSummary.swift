/// Somebody's read state in one conversation, and the place, change and own change it was computed at: a device that knows
/// of later ones drops it, or adds the difference.
public struct ReadSummary: Hashable, Sendable {
    public var epoch: Epoch
    public var readSeq: Seq
    public var unread: Int64
    public var mentions: Int64
    public var isMarkedUnread: Bool
    /// The head and its running number when this was computed.
    public var seq: Seq
    public var n: Int64
    public var rev: Int64
    public var userRev: Int64

    public init(
        epoch: Epoch, readSeq: Seq, unread: Int64, mentions: Int64, isMarkedUnread: Bool, seq: Seq, n: Int64,
        rev: Int64, userRev: Int64
    ) {
        self.epoch = epoch
        self.readSeq = readSeq
        self.unread = unread
        self.mentions = mentions
        self.isMarkedUnread = isMarkedUnread
        self.seq = seq
        self.n = n
        self.rev = rev
        self.userRev = userRev
    }
}
