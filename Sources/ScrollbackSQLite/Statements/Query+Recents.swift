import ScrollbackModel

/// Queries over all conversations of a user, which can be ten thousand.
///
/// They evaluate simple conditions in SQL and return few columns.
extension Query {
    /// The SQL of these queries; `nil` for other statements.
    var recents: String? {
        switch self {
        case .listed: Self.listing
        case .unreadAdjustments: Self.adjustments
        default: nil
        }
    }

    /// Lists communities themselves instead of their channels.
    ///
    /// The conditions are at the top level, so that SQLite stops evaluating a row as early as possible.
    private static let listing = """
        SELECT c.number, iif(c.recentSeq > 0, c.recentTime, c.timetoken), m.isPinned, m.standing = 1,
            c.kind = 'community'
        FROM member m CROSS JOIN conversation c ON c.number = m.conversation
        WHERE m.user = ?1 AND (?2 = '' OR c.kind = ?2) AND (c.kind <> 'community' OR c.part = '')
            AND (c.kind = 'community' OR NOT c.isDeleted AND c.kind NOT IN (\(kindsWithoutRecents)) AND c.head > 0
                AND iif(c.recentSeq > 0, c.recentSeq, c.head) > m.removedSeq AND (?3 IS NULL OR m.isMuted = ?3)
                AND (NOT ?4 OR m.isMarkedUnread OR c.head > \(position)))
        """

    /// Returns a row for each block of bits: the removed messages (kind 0, user '') and those that the user does not
    /// count (kind 2).
    private static let adjustments = """
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

    /// The sequence number up to which nothing is unread for a member.
    private static let position = "max(c.firstSeq - 1, m.joinSeq, m.readSeq, m.clearSeq)"
    /// The block (`BitBlock`: 1,024 numbers) of the first counted index that may be unread.
    private static let firstBlock = "(max(c.floorN, m.joinN, m.readN, m.clearN) + 1) / 1024"
    /// A literal list, so that SQLite does not build a temporary table and search it for each row.
    private static let kindsWithoutRecents =
        ConversationKind.allCases.filter { !$0.traits.hasRecents }.map { "'\($0.rawValue)'" }.joined(separator: ", ")
}
