import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

/// Queries over all conversations of a user, which can be ten thousand.
///
/// They return few columns. Their conditions are prefilters, without which the engine would read the rows of every
/// conversation: they may let through too much, but never too little. `MembershipSummary` and `UnreadBase` decide.
extension SQLiteReader {
    // CROSS JOIN makes SQLite start with the user's rows; the other order would scan all conversations.
    private static let membershipSummaries = Statement<MembershipSummary>(
        """
        SELECT \(MembershipSummary.columns) FROM member m CROSS JOIN conversation c ON c.number = m.conversation
        WHERE m.userID = ?1 AND (c.lastCommit > ?2 OR m.userRev > ?3 OR c.kind = 'community' AND c.part = '')
        ORDER BY m.conversation
        """)

    func membershipSummaries(
        of user: UserID, committedAfter lastCommit: Int64, changedAbove rev: Int64
    ) throws -> [MembershipSummary] {
        try connection.all(Self.membershipSummaries) { $0.add(user, lastCommit, rev) }
    }

    private static let channelSummaries = Statement<MembershipSummary>(
        """
        SELECT \(MembershipSummary.columns) FROM conversation r
        CROSS JOIN conversation c ON c.kind = 'community' AND c.target = r.target AND c.part > ''
        LEFT JOIN member m ON m.conversation = c.number AND m.userID = ?
        WHERE r.number = ? ORDER BY c.part
        """)

    func channelSummaries(of user: UserID, in community: Int64) throws -> [MembershipSummary] {
        try connection.all(Self.channelSummaries) { $0.add(user, community) }
    }

    /// Lists communities themselves instead of their channels.
    ///
    /// The prefilter of `RecentsListFilter.mayMatch` is at the top level, so that SQLite stops evaluating a row early.
    private static let recentsCandidates = Statement(
        """
        SELECT c.number, iif(c.recentSeq > 0, c.recentTime, c.timetoken), m.isPinned, m.standing = 1,
            c.kind = 'community'
        FROM member m CROSS JOIN conversation c ON c.number = m.conversation
        WHERE m.userID = ?1 AND (?2 = '' OR c.kind = ?2) AND (c.kind <> 'community' OR c.part = '')
            AND (c.kind = 'community'
                OR NOT c.isDeleted AND c.kind NOT IN (\(RecentsListFilter.unlistedKinds)) AND c.head > 0
                AND iif(c.recentSeq > 0, c.recentSeq, c.head) > m.removedSeq AND (?3 IS NULL OR m.isMuted = ?3)
                AND (NOT ?4 OR m.isMarkedUnread OR c.head > \(prefilterPosition)))
        """
    ) {
        let (number, time) = ($0.integer(), $0.timetoken())
        let place = RecentsPosition(isPinned: $0.flag(), time: time, number: number)
        return RecentsCandidate(position: place, isMember: $0.flag(), isCommunityRoot: $0.flag())
    }

    func recentsCandidates(of user: UserID, _ filter: RecentsListFilter) throws -> [RecentsCandidate] {
        try connection.all(Self.recentsCandidates) {
            $0.add(user, filter.kind?.rawValue ?? "", filter.isMuted, filter.isUnread)
        }
    }

    /// Returns a row for each block of bits: the removed messages (kind 0, user '') and those that the user does not
    /// count (kind 2).
    private static let unreadAdjustments = Statement(
        """
        SELECT c.number, \(mayBeMentioned), b.block, b.words
        FROM member m CROSS JOIN conversation c ON c.number = m.conversation
            LEFT JOIN bits b ON b.conversation = c.number AND b.kind IN (0, 2) AND b.userID IN ('', ?1)
                AND b.block >= \(prefilterBlock)
        WHERE m.userID = ?1 AND m.standing = 1 AND c.kind <> 'community' AND c.head > \(prefilterPosition)
            AND (b.block IS NOT NULL OR \(mayBeMentioned))
        """
    ) { ($0.integer(), mayBeMentioned: $0.flag(), block: $0.skipIfNull() ? nil : try BitBlock(&$0)) }

    func unreadAdjustments(of user: UserID) throws -> [Int64: UnreadAdjustment] {
        var counts: [Int64: UnreadAdjustment] = [:]
        try connection.run(Self.unreadAdjustments) {
            $0.add(user)
        } row: { number, mayBeMentioned, block in
            var count = counts[number] ?? UnreadAdjustment()
            count.mayBeMentioned = mayBeMentioned
            if let block { count.add(block) }
            counts[number] = count
            return true
        }
        return counts
    }

    private static let mayBeMentioned = """
        (EXISTS (SELECT 1 FROM mention WHERE conversation = c.number AND userID = ?1 AND seq > \(prefilterPosition))
            OR EXISTS
                (SELECT 1 FROM mention WHERE conversation = c.number AND userID = '' AND seq > \(prefilterPosition)))
        """

    /// A sequence number at or below the position of the member's `UnreadBase`, for prefilters only.
    private static let prefilterPosition = "max(c.firstSeq - 1, m.joinSeq, m.readSeq, m.clearSeq)"
    /// A block (`BitBlock`) at or below that of the first counted index above the member's `UnreadBase`, for prefilters
    /// only.
    private static let prefilterBlock = """
        (max(c.floorCountedIndex, m.joinCountedIndex, m.readCountedIndex, m.clearCountedIndex) + 1) / \(BitBlock.width)
        """
}
