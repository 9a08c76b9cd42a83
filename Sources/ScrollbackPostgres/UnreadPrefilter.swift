import ScrollbackEngine

/// The base of unread counts, `UnreadBase`, in SQL for a join of `conversation c` and `member m`.
///
/// For prefilters only: in a public channel, the community decides when a user joined, so the real base can be higher.
enum UnreadPrefilter {
    /// A counted index at or below the one of the member's `UnreadBase`.
    static let countedIndex = """
        greatest(c.floorCountedIndex, m.joinCountedIndex, m.readCountedIndex, m.clearCountedIndex)
        """
    /// A sequence number at or below the position of the member's `UnreadBase`.
    static let position = "greatest(c.firstSeq - 1, m.joinSeq, m.readSeq, m.clearSeq)"
    /// A `BitBlock` at or below that of the first counted index above the member's `UnreadBase`.
    static let block = "(\(countedIndex) + 1) / \(BitBlock.width)"
}
