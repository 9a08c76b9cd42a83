import ScrollbackEngine
import ScrollbackModel

extension ReadAhead {
    /// Queues the queries, whose rows arrive with the next round trip.
    func enqueue(_ reads: ExpectedReads, on connection: PostgresConnection) throws {
        if !reads.footprints.isEmpty { try enqueueFootprints(reads, on: connection) }
        if let summaries = reads.summaries { try enqueue(summaries, on: connection) }
        if let heads = reads.heads, !heads.conversations.isEmpty { try enqueue(heads, on: connection) }
        try enqueue(reads.conversations, on: connection)
        try connection.enqueue(Self.numbered, rows: reads.numbers.map { Parameters($0) }) { [self] row in
            conversations[row.id] = .some(row)
            names[row.number] = row.id
        }
        try enqueue(reads.logs, on: connection)
    }

    private func enqueue(_ names: some Collection<ConversationID>, on connection: PostgresConnection) throws {
        try connection.enqueue(Self.conversation, rows: names.map { Parameters($0) }) { [self] id, row in
            conversations[id] = .some(row)
            if let row { self.names[row.number] = id }
        }
    }

    private func enqueueFootprints(_ reads: ExpectedReads, on connection: PostgresConnection) throws {
        let memberships = reads.memberships
        let names = Set(memberships.map(\.conversation))
        try enqueue(names, on: connection)
        let members = MemberStatements.byName
        let parameters = memberships.map { Parameters($0.conversation, $0.user) }
        try connection.enqueue(members.standing, rows: parameters) { [self] in take($0) }
        try enqueueSpans(members, reads.spans.map { Parameters($0.conversation, $0.user) }, on: connection)
        try enqueueJoined(members, reads.access.map { Parameters($0.conversation, $0.user) }, on: connection)
        let heads = reads.headMemberships.map { Parameters($0.conversation, $0.user) }
        try enqueueHeads(.byName, heads, on: connection)
        try enqueueMessages(reads, on: connection)
        try enqueueReadPositions(reads.readPositions, on: connection)
        let counted = reads.counted.map { Parameters($0.conversation, $0.user) }
        try connection.enqueue(HeadStatements.byName.memberCount, rows: counted) { [self] in memberCounts[$0] = $1 }
        try connection.enqueue(Self.usage, rows: reads.usage.map { Parameters($0) }) { [self] in usage[$0] = .some($1) }
        if reads.includesPushRecipients { try enqueueRecipients(in: names, on: connection) }
    }

    private func enqueueReadPositions(
        _ reads: Set<ExpectedReads.ReadPosition>, on connection: PostgresConnection
    ) throws {
        let names = Set(reads.map(\.conversation)).map { Parameters($0) }
        try connection.enqueue(Self.removed, rows: names) { [self] in take($0, $1, $2) }
        let users = Set(reads.map(\.user)).map { Parameters($0) }
        try connection.enqueue(Self.user, rows: users) { [self] in self.users[$0] = .some($1) }
        let rows = reads.map { Parameters($0.conversation, $0.user, $0.seq) }
        try connection.enqueue(Self.readPosition, rows: rows) { [self] in take($0) }
    }

    private func enqueueRecipients(in names: Set<ConversationID>, on connection: PostgresConnection) throws {
        let users = Set(names.flatMap(\.namedUsers))
        try connection.enqueue(Self.pushUser, rows: users.map { Parameters($0) }) { [self] in
            pushUsers[$0] = .some($1)
        }
        let lists = names.filter { $0.namedUsers.isEmpty }
        try connection.enqueue(Self.firstRecipient, rows: lists.map { Parameters($0) }) { [self] in
            firstRecipients[$0] = .some($1)
        }
    }

    /// Returns a join with the rows of a query for each row to its left.
    ///
    /// The offset makes PostgreSQL run the query for each row, and so use all of its conditions with an index. It could
    /// otherwise read, for example, all members of a conversation and compare their names.
    static func lookUp(_ name: String, _ query: String) -> String {
        "LEFT JOIN LATERAL (\(query) OFFSET 0) AS \(name) ON true"
    }

    private static let numbered = Statement<ConversationRow>(
        """
        SELECT \(prefixed(ConversationRow.columns, "c")) FROM unnest(?) AS e (number) JOIN conversation c USING (number)
        """)

    private static let conversation = Statement(
        """
        SELECT kind, target, part, \(prefixed(ConversationRow.columns, "c"))
        FROM unnest(?, ?, ?) AS e (kind, target, part) LEFT JOIN conversation c USING (kind, target, part)
        """
    ) { columns in
        let id = try ConversationID(&columns)
        return (id, columns.isNextNull ? nil : try ConversationRow(&columns))
    }

    func take(_ key: BitsKey, _ first: Int64, _ block: BitBlock?) {
        var known = bits[key] ?? Bits(first: first)
        known.first = min(known.first, first)
        if let block { known.blocks[block.index] = block }
        bits[key] = known
    }

    /// The block of the counted index of the next message, because lower blocks are seldom needed.
    static let firstBlock = "(c.countedIndex + 1) / \(BitBlock.width)"

    /// Returns a query for the blocks of a set from one on.
    static func bits(_ kind: Int64, of user: String, from block: String = firstBlock) -> String {
        """
        SELECT * FROM bits WHERE conversation = c.number AND kind = \(kind) AND userID = \(user)
        AND block >= \(block)
        """
    }

    private static let removed = Statement(
        """
        SELECT c.number, \(firstBlock), \(prefixed(BitBlock.columns, "b"))
        FROM unnest(?, ?, ?) AS e (kind, target, part) JOIN conversation c USING (kind, target, part)
        \(lookUp("b", bits(BitSet.removedKind, of: "''")))
        """
    ) { columns in
        let key = BitsKey(conversation: columns.integer(), set: .removed)
        return (key, columns.integer(), try BitBlock(ifPresent: &columns))
    }

    static let user = Statement(
        """
        SELECT e.userID, \(prefixed(UserRow.columns, "p"))
        FROM unnest(?) AS e (userID) LEFT JOIN person p ON p.id = e.userID
        """
    ) { columns in
        (columns.userID(), columns.isNextNull ? nil : try UserRow(&columns))
    }

    /// What a read mark needs of the sequence number up to which the user reads.
    private struct ReadPosition {
        var key: MemberKey
        var seq: Seq
        var receipt: ReceiptRow
        /// Whether no message above the sequence number mentions the user.
        var isUnmentioned: Bool
        var position: PositionRow?
    }

    private func take(_ row: ReadPosition) {
        receipts[row.key] = row.receipt
        if row.isUnmentioned { unmentioned[row.key] = min(row.seq, unmentioned[row.key] ?? row.seq) }
        positions[row.key.conversation, default: [:]][row.seq] = .some(row.position)
    }

    private static let readPosition = Statement(
        """
        SELECT c.number, e.userID, e.seq, \(prefixed(ReceiptRow.columns, "r")), \(isUnmentioned(above: "e.seq")),
            p.seq, p.countedIndex, p.timetoken
        FROM unnest(?, ?, ?, ?, ?) AS e (kind, target, part, userID, seq) JOIN conversation c USING (kind, target, part)
        \(lookUp("r", "SELECT * FROM receipt WHERE conversation = c.number AND userID = e.userID"))
        \(lookUp("p", "SELECT * FROM message WHERE conversation = c.number AND seq <= e.seq ORDER BY seq DESC LIMIT 1"))
        """
    ) { columns in
        ReadPosition(
            key: MemberKey(conversation: columns.integer(), user: columns.userID()), seq: columns.integer(),
            receipt: ReceiptRow(&columns), isUnmentioned: columns.flag(),
            position: columns.isNextNull ? nil : PositionRow(&columns))
    }

    /// Returns the condition that no message of `c` above a sequence number mentions the user of `e`.
    static func isUnmentioned(above seq: String) -> String {
        let exists = { (user: String) in
            "EXISTS (SELECT FROM mention WHERE conversation = c.number AND userID = \(user) AND seq > \(seq) "
                + "AND sender <> e.userID)"
        }
        return "NOT \(exists("e.userID")) AND NOT \(exists("''"))"
    }

    private static let usage = Statement(
        """
        SELECT e.userID, \(prefixed(UsageRow.columns, "u"))
        FROM unnest(?) AS e (userID) LEFT JOIN usage u USING (userID)
        """
    ) { columns in
        (columns.userID(), columns.isNextNull ? nil : UsageRow(&columns))
    }

    private static let pushUser = Statement(
        """
        SELECT e.userID, \(prefixed(PushUserRow.columns, "p"))
        FROM unnest(?) AS e (userID) LEFT JOIN pushUser p ON p.userID = e.userID
        """
    ) { columns in
        (columns.userID(), columns.isNextNull ? nil : try PushUserRow(&columns))
    }

    private static let firstRecipient = Statement(
        """
        SELECT number, (
            SELECT userID FROM pushLevel WHERE conversation = number AND level = \(NotificationLevel.all.stored)
            ORDER BY userID LIMIT 1)
        FROM unnest(?, ?, ?) AS e (kind, target, part) JOIN conversation c USING (kind, target, part)
        """
    ) { columns in
        (columns.integer(), columns.optionalUserID())
    }
}
