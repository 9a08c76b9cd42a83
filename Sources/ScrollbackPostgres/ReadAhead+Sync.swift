import ScrollbackEngine
import ScrollbackModel

// The rows for `sync`.

extension ReadAhead {
    /// Queues the queries for the summaries of a user's memberships.
    func enqueue(_ reads: ExpectedReads.Summaries, on connection: PostgresConnection) throws {
        snapshot = SnapshotRows()
        snapshot.expected = reads
        try connection.enqueue(
            Self.summaries, bind: { $0.add(reads.user, reads.lastCommit, reads.rev) },
            row: { [self] community, row in snapshot.add(row, of: community) })
        try connection.enqueue(Self.user, rows: [Parameters(reads.user)]) { [self] in users[$0] = .some($1) }
        try connection.enqueue(
            PostgresReader.drafts, bind: { $0.add(reads.user, reads.rev, 1 as Int64) },
            row: { [self] in snapshot.drafts.append($0) })
    }

    /// The memberships, and the channels of those that are communities with the number of the community.
    private static let summaries = Statement(
        """
        WITH mine AS MATERIALIZED (
            SELECT c.number AS own, c.target AS community, c.kind = 'community' AND c.part = '' AS isRoot,
                \(MembershipSummary.columns)
            FROM \(PostgresReader.changedMemberships)
        )
        SELECT NULL::BIGINT AS root, '' COLLATE "C" AS name, mine.* FROM mine
        UNION ALL
        SELECT k.own, c.part, c.number, '', false, \(MembershipSummary.columns) FROM mine AS k
        JOIN LATERAL (
            SELECT * FROM conversation WHERE kind = 'community' AND target = k.community AND part > '' OFFSET 0
        ) AS c ON true
        LEFT JOIN LATERAL (
            SELECT * FROM member WHERE conversation = c.number AND userID = $1 OFFSET 0
        ) AS m ON true
        WHERE k.isRoot
        ORDER BY root NULLS FIRST, name, own
        """
    ) { columns in
        let community = columns.optionalInteger()
        // What only orders and joins the rows: name, own, community and isRoot.
        columns.skip(4)
        return (community, try MembershipSummary(&columns))
    }

    /// Queues the queries for parts of logs.
    func enqueue(_ logs: [ExpectedReads.Log], on connection: PostgresConnection) throws {
        var seen: Set<Int64> = []
        let logs = logs.filter { seen.insert($0.conversation.number).inserted }
        for log in logs {
            snapshot.logs[log.conversation.number] = log.places.map { LogPart($0) }
            snapshot.changes[log.conversation.number] = log.changedAfter.map { .init(after: $0) }
        }
        let times = logs.compactMap { log -> Parameters? in
            // A conversation without later messages needs no search.
            guard let time = log.time, time < log.conversation.timetoken else { return nil }
            let row = log.conversation
            return Parameters(row.number, row.firstSeq - 1, row.head, PostgresReader.signed(time))
        }
        try connection.enqueue(Self.time, rows: times) { [self] in self.times[$0] = $1 }
        let parts = logs.compactMap { log in log.places.map { Parameters(log.conversation.number, $0) } }
        try connection.enqueue(Self.part, rows: parts) { [self] conversation, seq, row in
            snapshot.logs[conversation]?.add(seq, row)
        }
        let changes = logs.compactMap { log in
            log.changedAfter.map { Parameters(log.conversation.number, $0) }
        }
        try connection.enqueue(Self.change, rows: changes) { [self] conversation, row in
            snapshot.changes[conversation]?.rows.append(row)
        }
        try connection.enqueue(Self.changedMessage, rows: changes) { [self] conversation, row in
            snapshot.messages[.init(conversation: conversation, seq: row.seq)] = row
        }
    }

    private static let time = Statement(
        """
        SELECT e.conversation, e.low, e.high, e.instant,
            (\(lastPosition(in: "e.conversation", above: "e.low", through: "e.high", atOrBefore: "e.instant")))
        FROM unnest(?, ?, ?, ?) AS e (conversation, low, high, instant)
        """
    ) { columns in
        let key = TimeKey(
            conversation: columns.integer(), low: columns.integer(), high: columns.integer(), time: columns.integer())
        return (key, columns.integer())
    }

    /// The number of bytes of texts above which a message of a log is read when it is needed.
    ///
    /// A request reads up to 2,000 messages ahead.
    private static let maximumBytes = 2048

    private static let part = Statement(
        """
        SELECT e.conversation, m.seq, m.isLarge, \(messageColumns)
        FROM unnest(?, ?, ?) AS e (conversation, lower, upper)
        JOIN LATERAL (
            SELECT *, \(messageBytes) > \(maximumBytes) AS isLarge FROM message
            WHERE conversation = e.conversation AND seq BETWEEN e.lower AND e.upper ORDER BY seq OFFSET 0
        ) AS m ON true
        """
    ) { columns in
        let (conversation, seq) = (columns.integer(), columns.integer())
        return (conversation, seq, columns.flag() ? nil : try MessageRow(&columns))
    }

    private static let change = Statement(
        """
        SELECT e.conversation, \(prefixed(ChangeRow.columns, "o")) FROM \(changes)
        """
    ) { columns in
        (columns.integer(), try ChangeRow(&columns))
    }

    private static let changedMessage = Statement(
        """
        SELECT e.conversation, \(prefixed(MessageRow.columns, "m")) FROM \(changes)
        JOIN LATERAL (
            SELECT *, \(messageBytes) > \(maximumBytes) AS isLarge FROM message
            WHERE conversation = e.conversation AND seq = o.lower OFFSET 0
        ) AS m ON NOT m.isLarge
        WHERE o.kind = \(ChangeRow.Kind.message.rawValue)
        """
    ) { columns in
        (columns.integer(), try MessageRow(&columns))
    }

    private static let changes = """
        unnest(?, ?) AS e (conversation, rev)
        JOIN LATERAL (
            SELECT * FROM change WHERE conversation = e.conversation AND rev > e.rev
            ORDER BY rev LIMIT \(SnapshotRows.maximumChanges)
        ) AS o ON true
        """
}
