import ScrollbackEngine
import ScrollbackModel

/// The queries for the heads of conversations, besides what users can see of them.
struct HeadStatements {
    let uncounted: Statement<(ReadAhead.BitsKey, Int64, BitBlock?)>
    let removed: Statement<(ReadAhead.BitsKey, Int64, BitBlock?)>
    let mentions: Statement<(ReadAhead.MemberKey, above: Seq, Seq?)>
    let lastMessage: Statement<(conversation: Int64, MessageRow)>
    let receipt: Statement<(ReadAhead.MemberKey, ReceiptRow)>
    let memberCount: Statement<(conversation: Int64, Int)>

    static let byName = HeadStatements(
        from: "unnest(?, ?, ?, ?) AS e (kind, target, part, userID) JOIN conversation c USING (kind, target, part)")
    static let byNumber = HeadStatements(from: "unnest(?, ?) AS e (number, userID) JOIN conversation c USING (number)")

    /// - Parameter source: A `FROM` clause with conversations as `c`, and a column `e.userID`.
    private init(from source: String) {
        let member = ReadAhead.lookUp("m", ReadAhead.memberQuery)
        // Without a row of the member, its columns are NULL, which `greatest` ignores. Of a user with very many unread
        // messages, the other blocks are read when they are needed.
        let block = "greatest(\(UnreadPrefilter.block), c.countedIndex / \(BitBlock.width) - \(Self.maximumBlocks - 1))"

        uncounted = Statement(
            """
            SELECT c.number, e.userID, f.block, \(prefixed(BitBlock.columns, "b")) FROM \(source) \(member)
            JOIN LATERAL (SELECT \(block) AS block OFFSET 0) AS f ON true
            \(ReadAhead.lookUp("b", ReadAhead.bits(BitSet.uncountedKind, of: "e.userID", from: "f.block")))
            """
        ) { columns in
            let key = ReadAhead.MemberKey(&columns)
            let set = ReadAhead.BitsKey(conversation: key.conversation, set: .uncounted(key.user))
            return (set, columns.integer(), try BitBlock(ifPresent: &columns))
        }
        removed = Statement(
            """
            SELECT c.number, f.block, \(prefixed(BitBlock.columns, "b")) FROM \(source) \(member)
            JOIN LATERAL (SELECT \(block) AS block OFFSET 0) AS f ON true
            \(ReadAhead.lookUp("b", ReadAhead.bits(BitSet.removedKind, of: "''", from: "f.block")))
            """
        ) { columns in
            let set = ReadAhead.BitsKey(conversation: columns.integer(), set: .removed)
            return (set, columns.integer(), try BitBlock(ifPresent: &columns))
        }
        let mentions = { (user: String) in
            """
            SELECT seq FROM mention WHERE conversation = c.number AND userID = \(user) AND seq > f.seq
            AND sender <> e.userID ORDER BY seq LIMIT \(SnapshotRows.maximumMentions + 1)
            """
        }
        self.mentions = Statement(
            """
            SELECT c.number, e.userID, f.seq, n.seq FROM \(source) \(member)
            JOIN LATERAL (SELECT \(UnreadPrefilter.position) AS seq OFFSET 0) AS f ON true
            LEFT JOIN LATERAL ((\(mentions("e.userID"))) UNION (\(mentions("''")))) AS n ON true
            """
        ) { columns in
            (ReadAhead.MemberKey(&columns), above: columns.integer(), columns.optionalInteger())
        }
        lastMessage = Statement(
            """
            SELECT c.number, \(prefixed(MessageRow.columns, "m")) FROM \(source)
            JOIN LATERAL (
                SELECT *, \(ReadAhead.messageBytes) > 8192 AS isLarge FROM message
                WHERE conversation = c.number AND seq = \(ConversationRow.listedSeq)
                OFFSET 0
            ) AS m ON NOT m.isLarge
            """
        ) { columns in
            (conversation: columns.integer(), try MessageRow(&columns))
        }
        // How far the other users of direct conversations have read.
        receipt = Statement(
            """
            SELECT c.number, p.userID, \(prefixed(ReceiptRow.columns, "r")) FROM \(source)
            JOIN LATERAL (
                SELECT CASE WHEN c.target = e.userID THEN c.part ELSE c.target END AS userID OFFSET 0
            ) AS p ON true
            \(ReadAhead.lookUp("r", "SELECT * FROM receipt WHERE conversation = c.number AND userID = p.userID"))
            WHERE c.kind = 'direct'
            """
        ) { columns in
            (ReadAhead.MemberKey(&columns), ReceiptRow(&columns))
        }
        // Whether a group is small enough for delivery receipts.
        memberCount = Statement(
            """
            SELECT c.number, (
                SELECT count(*) FROM (
                    SELECT FROM member WHERE conversation = c.number AND standing = 1
                    LIMIT \(ReadAhead.maximumMembers)
                ) AS known
            ) FROM \(source) WHERE c.kind = 'group'
            """
        ) { columns in
            (conversation: columns.integer(), Int(columns.integer()))
        }
    }

    private static let maximumBlocks = 4
}

extension ReadAhead {
    /// Queues the queries for the heads of numbered conversations.
    func enqueue(_ heads: ExpectedReads.Heads, on connection: PostgresConnection) throws {
        let parameters = heads.conversations.map { Parameters($0, heads.user) }
        try connection.enqueue(Self.conversations, rows: parameters) { [self] row in
            conversations[row.id] = .some(row)
            names[row.number] = row.id
        }
        try connection.enqueue(MemberStatements.byNumber.standing, rows: parameters) { [self] in take($0) }
        try enqueueSpans(.byNumber, parameters, on: connection)
        try enqueueJoined(.byNumber, parameters, on: connection)
        try enqueueHeads(.byNumber, parameters, on: connection)
    }

    private static let conversations = Statement<ConversationRow>(
        "SELECT \(prefixed(ConversationRow.columns, "c")) FROM \(MemberStatements.withCommunities)")

    /// Queues the queries for heads, besides what users can see of the conversations.
    func enqueueHeads(
        _ statements: HeadStatements, _ parameters: [Parameters], on connection: PostgresConnection
    ) throws {
        for bits in [statements.uncounted, statements.removed] {
            try connection.enqueue(bits, rows: parameters) { [self] in take($0, $1, $2) }
        }
        try connection.enqueue(statements.mentions, rows: parameters) { [self] key, above, seq in
            let known = snapshot.mentions[key, default: .init(above: above)]
            snapshot.mentions[key] = .init(above: above, seqs: known.seqs.union(seq.map { [$0] } ?? []))
        }
        try connection.enqueue(statements.lastMessage, rows: parameters) { [self] conversation, row in
            snapshot.messages[.init(conversation: conversation, seq: row.seq)] = row
        }
        try connection.enqueue(statements.receipt, rows: parameters) { [self] in receipts[$0] = $1 }
        try connection.enqueue(statements.memberCount, rows: parameters) { [self] in memberCounts[$0] = $1 }
    }
}
