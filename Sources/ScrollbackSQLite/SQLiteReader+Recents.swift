import ScrollbackEngine
import ScrollbackModel
import StoreFiles

/// Queries over all conversations of a user, which can be ten thousand.
///
/// They evaluate simple conditions in SQL and return few columns.
extension SQLiteReader {
    // CROSS JOIN makes SQLite start with the user's rows; the other order would scan all conversations.
    private static let membershipSummaries = Statement<MembershipSummary>(
        """
        SELECT \(MembershipSummary.columns) FROM member m CROSS JOIN conversation c ON c.number = m.conversation
        WHERE m.user = ?1 AND (c.moved > ?2 OR m.userRev > ?3 OR c.kind = 'community' AND c.part = '')
        ORDER BY m.conversation
        """)

    func membershipSummaries(
        of user: UserID, committedAfter lastCommit: Int64, changedAbove rev: Int64
    ) throws -> [MembershipSummary] {
        try connection.all(Self.membershipSummaries) { $0.add(user, lastCommit, rev) }
    }

    private static let channelSummaries = Statement<MembershipSummary>(
        """
        SELECT \(MembershipSummary.columns) FROM conversation c
        LEFT JOIN member m ON m.conversation = c.number AND m.user = ?
        WHERE c.kind = 'community' AND c.target = ? AND c.part > '' ORDER BY c.part
        """)

    func channelSummaries(of user: UserID, in community: Identifier) throws -> [MembershipSummary] {
        try connection.all(Self.channelSummaries) { $0.add(user, community) }
    }

    /// Lists communities themselves instead of their channels.
    ///
    /// The conditions are at the top level, so that SQLite stops evaluating a row as early as possible.
    private static let listed = Statement(
        """
        SELECT c.number, iif(c.recentSeq > 0, c.recentTime, c.timetoken), m.isPinned, m.standing = 1,
            c.kind = 'community'
        FROM member m CROSS JOIN conversation c ON c.number = m.conversation
        WHERE m.user = ?1 AND (?2 = '' OR c.kind = ?2) AND (c.kind <> 'community' OR c.part = '')
            AND (c.kind = 'community' OR NOT c.isDeleted AND c.kind NOT IN (\(kindsWithoutRecents)) AND c.head > 0
                AND iif(c.recentSeq > 0, c.recentSeq, c.head) > m.removedSeq AND (?3 IS NULL OR m.isMuted = ?3)
                AND (NOT ?4 OR m.isMarkedUnread OR c.head > \(position)))
        """
    ) {
        let (number, time) = ($0.integer(), $0.timetoken())
        let place = RecentsPosition(isPinned: $0.flag(), time: time, number: number)
        return ListedRow(place: place, isMember: $0.flag(), isCommunityRoot: $0.flag())
    }

    func listed(of user: UserID, _ filter: RecentsListFilter) throws -> [ListedRow] {
        try connection.all(Self.listed) { $0.add(user, filter.kind?.rawValue ?? "", filter.isMuted, filter.isUnread) }
    }

    /// Returns a row for each block of bits: the removed messages (kind 0, user '') and those that the user does not
    /// count (kind 2).
    private static let unreadAdjustments = Statement(
        """
        SELECT c.number, \(isMentioned), b.block, b.words
        FROM member m CROSS JOIN conversation c ON c.number = m.conversation
            LEFT JOIN bits b ON b.conversation = c.number AND b.kind IN (0, 2) AND b.user IN ('', ?1)
                AND b.block >= \(firstBlock)
        WHERE m.user = ?1 AND m.standing = 1 AND c.kind <> 'community' AND c.head > \(position)
            AND (b.block IS NOT NULL OR \(isMentioned))
        """
    ) { ($0.integer(), isMentioned: $0.flag(), block: $0.skipIfNull() ? nil : try BitBlock(&$0)) }

    func unreadAdjustments(of user: UserID) throws -> [Int64: UnreadAdjustment] {
        var counts: [Int64: UnreadAdjustment] = [:]
        try connection.run(Self.unreadAdjustments) {
            $0.add(user)
        } row: { number, isMentioned, block in
            var count = counts[number] ?? UnreadAdjustment()
            count.isMentioned = isMentioned
            if let block { count.add(block) }
            counts[number] = count
            return true
        }
        return counts
    }

    private static let isMentioned = """
        (EXISTS (SELECT 1 FROM mention WHERE conversation = c.number AND user = ?1 AND seq > \(position))
            OR EXISTS (SELECT 1 FROM mention WHERE conversation = c.number AND user = '' AND seq > \(position)))
        """

    /// The sequence number up to which nothing is unread for a member.
    private static let position = "max(c.firstSeq - 1, m.joinSeq, m.readSeq, m.clearSeq)"
    /// The block (`BitBlock`: 1,024 numbers) of the first counted index that may be unread.
    private static let firstBlock = "(max(c.floorN, m.joinN, m.readN, m.clearN) + 1) / 1024"
    /// A literal list, so that SQLite does not build a temporary table and search it for each row.
    private static let kindsWithoutRecents =
        ConversationKind.allCases.filter { !$0.traits.hasRecents }.map { "'\($0.rawValue)'" }.joined(separator: ", ")
}
