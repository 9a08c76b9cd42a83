import ScrollbackModel

/// Queries over all conversations of a user, which can be ten thousand.
///
/// They return few columns. Their conditions are prefilters, without which the engine would read the rows of every
/// conversation: they may let through too much, but never too little. `MembershipSummary` and `UnreadBase` decide.
extension Query {
    /// The SQL of these queries; `nil` for other statements.
    var recents: String? {
        switch self {
        case .recentsCandidates: Self.candidates
        case .unreadAdjustments: Self.adjustments
        default: nil
        }
    }

    /// Lists communities themselves instead of their channels.
    ///
    /// The prefilter of `RecentsListFilter.mayMatch` is at the top level, so that SQLite stops evaluating a row early.
    private static let candidates = """
        SELECT c.number, iif(c.recentSeq > 0, c.recentTime, c.timetoken), m.isPinned, m.standing = 1,
            c.kind = 'community'
        FROM member m CROSS JOIN conversation c ON c.number = m.conversation
        WHERE m.user = ?1 AND (?2 = '' OR c.kind = ?2) AND (c.kind <> 'community' OR c.part = '')
            AND (c.kind = 'community' OR NOT c.isDeleted AND c.kind NOT IN (\(kindsWithoutRecents)) AND c.head > 0
                AND iif(c.recentSeq > 0, c.recentSeq, c.head) > m.removedSeq AND (?3 IS NULL OR m.isMuted = ?3)
                AND (NOT ?4 OR m.isMarkedUnread OR c.head > \(prefilterPosition)))
        """

    /// Returns a row for each block of bits: the removed messages (kind 0, user '') and those that the user does not
    /// count (kind 2).
    private static let adjustments = """
        SELECT c.number, \(mayBeMentioned), b.block, b.words
        FROM member m CROSS JOIN conversation c ON c.number = m.conversation
            LEFT JOIN bits b ON b.conversation = c.number AND b.kind IN (0, 2) AND b.user IN ('', ?1)
                AND b.block >= \(prefilterBlock)
        WHERE m.user = ?1 AND m.standing = 1 AND c.kind <> 'community' AND c.head > \(prefilterPosition)
            AND (b.block IS NOT NULL OR \(mayBeMentioned))
        """

    private static let mayBeMentioned = """
        (EXISTS (SELECT 1 FROM mention WHERE conversation = c.number AND user = ?1 AND seq > \(prefilterPosition))
            OR EXISTS
                (SELECT 1 FROM mention WHERE conversation = c.number AND user = '' AND seq > \(prefilterPosition)))
        """

    /// A sequence number at or below the position of the member's `UnreadBase`, for prefilters only.
    private static let prefilterPosition = "max(c.firstSeq - 1, m.joinSeq, m.readSeq, m.clearSeq)"
    /// A block (`BitBlock`: 1,024 numbers) at or below that of the first counted index above the member's `UnreadBase`,
    /// for prefilters only.
    private static let prefilterBlock = "(max(c.floorN, m.joinN, m.readN, m.clearN) + 1) / 1024"
    /// A literal list, so that SQLite does not build a temporary table and search it for each row.
    private static let kindsWithoutRecents =
        ConversationKind.allCases.filter { !$0.traits.hasRecents }.map { "'\($0.rawValue)'" }.joined(separator: ", ")
}
