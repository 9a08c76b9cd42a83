import ScrollbackEngine
import ScrollbackModel

/// Queries over all conversations of a user, which can be ten thousand.
///
/// They return few columns. Their conditions are prefilters, without which the engine would read the rows of every
/// conversation: they may let through too much, but never too little. `MembershipSummary` and `UnreadBase` decide.
extension PostgresReader {
    private static let unreadBase = UnreadPrefilter.position

    /// The memberships of the user `$1` that changed after the commit `$2` or above the revision `$3`, and all
    /// communities, whose channels may have changed.
    static let changedMemberships = """
        member m JOIN conversation c ON c.number = m.conversation \
        WHERE m.userID = $1 AND (c.lastCommit > $2 OR m.userRev > $3 OR c.kind = 'community' AND c.part = '')
        """

    private static let membershipSummaries = Statement<MembershipSummary>(
        """
        SELECT \(MembershipSummary.columns) FROM \(changedMemberships) ORDER BY m.conversation
        """)

    func membershipSummaries(
        of user: UserID, committedAfter lastCommit: Int64, changedAbove rev: Int64
    ) throws -> [MembershipSummary] {
        let expected = ExpectedReads.Summaries(of: user, committedAfter: lastCommit, changedAbove: rev)
        if let known = connection.ahead.snapshot.summaries(expected) { return known }
        return try connection.all(Self.membershipSummaries) { $0.add(user, lastCommit, rev) }
    }

    private static let channelSummaries = Statement<MembershipSummary>(
        """
        SELECT \(MembershipSummary.columns) FROM conversation r
        JOIN LATERAL (
            SELECT * FROM conversation WHERE kind = 'community' AND target = r.target AND part > '' OFFSET 0
        ) AS c ON true
        LEFT JOIN member m ON m.conversation = c.number AND m.userID = ?
        WHERE r.number = ? ORDER BY c.part
        """)

    func channelSummaries(of user: UserID, in community: Int64) throws -> [MembershipSummary] {
        if let known = connection.ahead.snapshot.channels(of: user, in: community) { return known }
        return try connection.all(Self.channelSummaries) { $0.add(user, community) }
    }

    /// Lists communities themselves instead of their channels.
    ///
    /// The prefilter of `RecentsListFilter.mayMatch` is at the top level, so that PostgreSQL stops evaluating a row
    /// early.
    private static let recentsCandidates = Statement(
        """
        SELECT c.number, \(ConversationRow.activeAt), m.isPinned, m.standing = 1, c.kind = 'community'
        FROM member m JOIN conversation c ON c.number = m.conversation
        WHERE m.userID = $1 AND ($2 = '' OR c.kind = $2) AND (c.kind <> 'community' OR c.part = '')
            AND (c.kind = 'community'
                OR NOT c.isDeleted AND c.kind NOT IN (\(RecentsListFilter.unlistedKinds)) AND c.head > 0
                AND \(ConversationRow.listedSeq) > m.removedSeq AND ($3 IS NULL OR m.isMuted = $3)
                AND (NOT $4 OR m.isMarkedUnread OR c.head > \(unreadBase)))
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
        FROM member m JOIN conversation c ON c.number = m.conversation
            LEFT JOIN bits b ON b.conversation = c.number AND b.kind IN (0, 2) AND b.userID IN ('', $1)
                AND b.block >= \(UnreadPrefilter.block)
        WHERE m.userID = $1 AND m.standing = 1 AND c.kind <> 'community' AND c.head > \(unreadBase)
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
        (EXISTS (SELECT 1 FROM mention WHERE conversation = c.number AND userID = $1 AND seq > \(unreadBase))
            OR EXISTS (SELECT 1 FROM mention WHERE conversation = c.number AND userID = '' AND seq > \(unreadBase)))
        """
}
