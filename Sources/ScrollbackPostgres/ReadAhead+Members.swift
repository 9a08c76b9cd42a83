import ScrollbackEngine
import ScrollbackModel

/// The queries for what users can see of conversations.
struct MemberStatements {
    let standing: Statement<ReadAhead.Standing>
    let span: Statement<(ReadAhead.MemberKey, SpanRow?)>
    let deletedRange: Statement<(ReadAhead.MemberKey, DeletedRangeRow?)>
    let joined: Statement<ReadAhead.Joined>

    /// The queries for names of conversations.
    ///
    /// The names must include the communities of channels.
    static let byName = MemberStatements(
        from: "unnest(?, ?, ?, ?) AS e (kind, target, part, userID) JOIN conversation c USING (kind, target, part)")
    /// The queries for numbers of conversations, and for the communities of channels.
    static let byNumber = MemberStatements(from: withCommunities)

    /// Conversations by number with their users, and the communities of channels with the same users.
    static let withCommunities = """
        (
            SELECT number, userID FROM unnest($1, $2) AS n (number, userID)
            UNION
            SELECT k.number, n.userID FROM unnest($1, $2) AS n (number, userID)
            JOIN conversation c ON c.number = n.number
            JOIN LATERAL (
                SELECT number FROM conversation WHERE kind = 'community' AND target = c.target AND part = '' OFFSET 0
            ) AS k ON true
            WHERE c.kind = 'community'
        ) AS e (number, userID) JOIN conversation c USING (number)
        """

    /// - Parameter source: A `FROM` clause with conversations as `c`, and a column `e.userID`.
    private init(from source: String) {
        standing = Statement(ReadAhead.standing(from: source)) { try ReadAhead.Standing(&$0) }
        span = Statement(
            """
            SELECT c.number, e.userID, \(prefixed(SpanRow.columns, "s")) FROM \(source)
            LEFT JOIN LATERAL (
                SELECT * FROM span WHERE conversation = c.number AND userID = e.userID ORDER BY joined OFFSET 0
            ) AS s ON true
            """
        ) { columns in
            (ReadAhead.MemberKey(&columns), columns.isNextNull ? nil : try SpanRow(&columns))
        }
        deletedRange = Statement(
            """
            SELECT c.number, w.userID, d.lower, d.upper, d.userRev, d.holdsMessages FROM \(source)
            CROSS JOIN LATERAL (VALUES (''), (e.userID)) AS w (userID)
            LEFT JOIN LATERAL (
                SELECT * FROM deletedRange WHERE conversation = c.number AND userID = w.userID
                ORDER BY lower LIMIT \(ReadAhead.maximumDeletedRanges + 1)
            ) AS d ON true
            WHERE c.hasDeletedRanges OR w.userID <> ''
            """
        ) { columns in
            let key = ReadAhead.MemberKey(&columns)
            if columns.isNextNull { return (key, nil) }
            return (
                key,
                DeletedRangeRow(try columns.range(), userRev: columns.integer(), holdsMessages: columns.flag())
            )
        }
        joined = Statement(ReadAhead.joined(from: source)) { columns in
            ReadAhead.Joined(
                key: ReadAhead.TimeKey(
                    conversation: columns.integer(), low: columns.integer(), high: columns.integer(),
                    time: columns.integer()),
                seq: columns.integer(), position: columns.isNextNull ? nil : PositionRow(&columns))
        }
    }
}

extension ReadAhead {
    /// Queues the queries for when users were members, and for the ranges that were deleted.
    func enqueueSpans(
        _ statements: MemberStatements, _ parameters: [Parameters], on connection: PostgresConnection
    ) throws {
        try connection.enqueue(statements.span, rows: parameters) { [self] key, span in
            let known = spans[key] ?? []
            // The same rows may have been read before.
            if let span, known.last.map({ $0.joined < span.joined }) ?? true { spans[key] = known + [span] }
            if spans[key] == nil { spans[key] = [] }
        }
        try connection.enqueue(statements.deletedRange, rows: parameters) { [self] key, range in
            let known = deletedRanges[key] ?? []
            if let range, known.last.map({ $0.places.lowerBound < range.places.lowerBound }) ?? true {
                deletedRanges[key] = known + [range]
            }
            if deletedRanges[key] == nil { deletedRanges[key] = [] }
        }
    }

    /// Queues the query for the positions in public channels at which users joined and left.
    func enqueueJoined(
        _ statements: MemberStatements, _ parameters: [Parameters], on connection: PostgresConnection
    ) throws {
        try connection.enqueue(statements.joined, rows: parameters) { [self] joined in
            times[joined.key] = joined.seq
            positions[joined.key.conversation, default: [:]][joined.seq] = .some(joined.position)
        }
    }

    // MARK: Standing

    /// A user in a conversation that exists, with one block of the messages that they don't count as unread.
    struct Standing {
        var key: MemberKey
        var isMuted: Bool
        var isBanned: Bool
        /// Whether no message above the read position mentions the user; `false` if it was not looked up.
        var isUnmentioned: Bool
        var firstBlock: Int64
        var block: BitBlock?
        var row: MemberRow?
    }

    func take(_ standing: Standing) {
        let key = standing.key
        let set = BitsKey(conversation: key.conversation, set: .uncounted(key.user))
        take(set, standing.firstBlock, standing.block)
        members[key] = .some(standing.row)
        if !standing.isMuted { unmuted.insert(key) }
        if !standing.isBanned { unbanned.insert(key) }
        if standing.isUnmentioned { unmentioned[key] = standing.row?.readSeq ?? 0 }
    }

    /// Mentions are only needed of users who have read everything.
    fileprivate static func standing(from source: String) -> String {
        """
        SELECT c.number, e.userID,
            c.hasMutes AND EXISTS (SELECT FROM mute WHERE conversation = c.number AND userID = e.userID),
            c.flags & \(ConversationFlags.bans.rawValue) <> 0
                AND EXISTS (SELECT FROM ban WHERE conversation = c.number AND userID = e.userID),
            CASE WHEN \(UnreadPrefilter.countedIndex) = c.countedIndex
            THEN \(isUnmentioned(above: "coalesce(m.readSeq, 0)")) ELSE false END,
            \(firstBlock), \(prefixed(BitBlock.columns, "b")), \(prefixed(MemberRow.columns, "m"))
        FROM \(source)
        \(lookUp("b", bits(BitSet.uncountedKind, of: "e.userID")))
        \(lookUp("m", memberQuery))
        """
    }

    /// A query for the row of a member.
    static let memberQuery = "SELECT * FROM member WHERE conversation = c.number AND userID = e.userID"

    // MARK: Public channels

    /// The position in a public channel at which a user joined or left its community.
    struct Joined {
        var key: TimeKey
        var seq: Seq
        var position: PositionRow?
    }

    /// The number of memberships in a community whose positions in its channels are read ahead.
    private static let maximumMemberships = 4

    fileprivate static func joined(from source: String) -> String {
        let query = lastPosition(
            in: "c.number", above: "c.firstSeq - 1", through: "c.head", atOrBefore: "t.instant")
        return """
            SELECT c.number, c.firstSeq - 1, c.head, t.instant, f.seq, p.seq, p.countedIndex, p.timetoken FROM \(source)
            JOIN LATERAL (
                SELECT number FROM conversation WHERE kind = 'community' AND target = c.target AND part = '' OFFSET 0
            ) AS k ON true
            JOIN LATERAL (
                SELECT joined, "left" FROM span WHERE conversation = k.number AND userID = e.userID
                ORDER BY joined DESC LIMIT \(maximumMemberships)
            ) AS s ON true
            JOIN LATERAL (VALUES (s.joined), (s."left")) AS t (instant) ON t.instant < c.timetoken
            JOIN LATERAL (SELECT (\(query)) AS seq OFFSET 0) AS f ON true
            LEFT JOIN LATERAL (
                SELECT * FROM message WHERE conversation = c.number AND seq <= f.seq ORDER BY seq DESC LIMIT 1
            ) AS p ON true
            WHERE c.kind = 'community' AND c.part <> '' AND NOT c.isPrivate
            """
    }

    /// Returns a query for the binary search of `StoreReader.lastPosition(in:where:)`.
    static func lastPosition(
        in conversation: String, above low: String, through high: String, atOrBefore time: String
    ) -> String {
        """
        WITH RECURSIVE search (low, high) AS (
            SELECT \(low), \(high)
            UNION ALL
            SELECT
                CASE WHEN found.seq IS NULL OR found.seq <= low OR found.timetoken <= \(time) THEN middle ELSE low END,
                CASE WHEN found.seq > low AND found.timetoken > \(time) THEN found.seq - 1 ELSE high END
            FROM (SELECT low, high, low + (high - low + 1) / 2 AS middle FROM search WHERE low < high) AS step
            LEFT JOIN LATERAL (
                SELECT seq, timetoken FROM message WHERE conversation = \(conversation) AND seq <= middle
                ORDER BY seq DESC LIMIT 1
            ) AS found ON true
        )
        SELECT low FROM search WHERE low >= high
        """
    }
}

extension ReadAhead.Standing {
    fileprivate init(_ columns: inout Columns) throws {
        self.init(
            key: ReadAhead.MemberKey(&columns), isMuted: columns.flag(), isBanned: columns.flag(),
            isUnmentioned: columns.flag(), firstBlock: columns.integer(), block: try BitBlock(ifPresent: &columns),
            row: columns.isNextNull ? nil : try MemberRow(&columns))
    }
}

extension ReadAhead.MemberKey {
    init(_ columns: inout Columns) {
        conversation = columns.integer()
        user = columns.userID()
    }
}
