import ScrollbackModel

/// The two looks at everything that is somebody's, which may be ten thousand conversations: what takes a few columns and
/// a few comparisons is done here, row by row, and little is handed on.
extension Query {
    /// Nothing for the other statements.
    var recents: String? {
        switch self {
        case .listed: Self.listing
        case .unevenCounts: Self.uneven
        default: nil
        }
    }

    /// Communities come as themselves, in place of the channels they have.
    ///
    /// Conditions stand at the top and not in a function: so a row is looked at no further than its answer takes.
    private static let listing = """
        SELECT c.number, iif(c.recentSeq > 0, c.recentTime, c.timetoken), m.isPinned, m.standing = 1, c.kind = 'community'
        FROM member m CROSS JOIN conversation c ON c.number = m.conversation
        WHERE m.user = ?1 AND (?2 = '' OR c.kind = ?2) AND (c.kind <> 'community' OR c.part = '')
            AND (c.kind = 'community' OR NOT c.isDeleted AND c.kind NOT IN (\(kindsWithoutRecents)) AND c.head > 0
                AND iif(c.recentSeq > 0, c.recentSeq, c.head) > m.removedSeq AND (?3 IS NULL OR m.isMuted = ?3)
                AND (NOT ?4 OR m.isMarkedUnread OR c.head > \(position)))
        """

    /// A row for each block of bits, which are what is removed for everyone (kind 0, nobody's) and what the user does not
    /// count (kind 2, theirs).
    private static let uneven = """
        SELECT c.number, \(isMentioned), b.block, b.words
        FROM member m CROSS JOIN conversation c ON c.number = m.conversation
            LEFT JOIN bits b ON b.conversation = c.number AND b.kind IN (0, 2) AND b.user IN ('', ?1)
                AND b.block >= \(firstBlock)
        WHERE m.user = ?1 AND m.standing = 1 AND c.kind <> 'community' AND c.head > \(position)
            AND (b.block IS NOT NULL OR \(isMentioned))
        """

    private static let isMentioned = """
        (EXISTS (SELECT 1 FROM mention WHERE conversation = c.number AND user = ?1 AND seq > \(position))
            OR EXISTS (SELECT 1 FROM mention WHERE conversation = c.number AND user = '' AND seq > \(position)))
        """

    /// The place up to which nothing is unread to a member.
    private static let position = "max(c.firstSeq - 1, m.joinSeq, m.readSeq, m.clearSeq)"
    /// The block (`BitBlock`: 1,024 numbers) of the first running number that may be unread.
    private static let firstBlock = "(max(c.floorN, m.joinN, m.readN, m.clearN) + 1) / 1024"
    /// One, so that no table is made of them and searched for each row.
    private static let kindsWithoutRecents =
        ConversationKind.allCases.filter { !$0.traits.hasRecents }.map { "'\($0.rawValue)'" }.joined(separator: ", ")
}
