package import ScrollbackModel

/// The position in a log at or below which nothing is unread for a user.
///
/// It is the highest of four positions: the retention floor, the user's last join, the read position and the cleared
/// position. Counted indexes and sequence numbers are compared separately, because a position can lack one of them. A
/// reader's row in a public channel has the counted index of the join, but not its sequence number.
package struct UnreadBase: Hashable, Sendable {
    /// The highest counted index at or below which nothing is unread.
    package let countedIndex: Int64
    /// The highest sequence number at or below which nothing is unread.
    package let position: Seq

    /// Creates the base from the columns of a conversation's row and a member's row.
    ///
    /// The defaults are those of a new conversation, and of a user without a row.
    package init(
        firstSeq: Seq = 1, floorCountedIndex: Int64 = 0, joinSeq: Seq = 0, joinCountedIndex: Int64 = 0,
        readSeq: Seq = 0, readCountedIndex: Int64 = 0, clearSeq: Seq = 0, clearCountedIndex: Int64 = 0
    ) {
        countedIndex = max(floorCountedIndex, joinCountedIndex, readCountedIndex, clearCountedIndex)
        position = max(firstSeq - 1, joinSeq, readSeq, clearSeq)
    }

    /// Creates the base of a user in a conversation.
    ///
    /// - Parameter joined: Where the user last joined; `nil` uses the member's row. In a public channel, the community
    ///   decides when the user joined. The row may be absent, or from a time when the channel was private.
    package init(
        of row: ConversationRow, _ member: MemberRow?, joined: (seq: Seq, countedIndex: Int64)? = nil
    ) {
        self.init(
            firstSeq: row.firstSeq, floorCountedIndex: row.floorCountedIndex,
            joinSeq: joined?.seq ?? member?.joinSeq ?? 0,
            joinCountedIndex: joined?.countedIndex ?? member?.joinCountedIndex ?? 0,
            readSeq: member?.readSeq ?? 0, readCountedIndex: member?.readCountedIndex ?? 0,
            clearSeq: member?.clearSeq ?? 0, clearCountedIndex: member?.clearCountedIndex ?? 0)
    }

    /// Returns the position at or below which nothing is unread in a thread.
    ///
    /// It is the higher one of the base and of how far the user read the thread.
    func inThread(_ state: ThreadStateRow?) -> UnreadBase {
        UnreadBase(
            firstSeq: position + 1, floorCountedIndex: countedIndex, readSeq: state?.readSeq ?? 0,
            readCountedIndex: state?.readCountedIndex ?? 0)
    }

    /// Returns the counted indexes above the base, up to `last`; `nil` if there are none.
    ///
    /// Each stands for an unread message, unless the user does not count it: see `StoreReader.uncounted`.
    package func countedIndexes(through last: Int64) -> ClosedRange<Int64>? {
        countedIndex < last ? countedIndex + 1...last : nil
    }
}
