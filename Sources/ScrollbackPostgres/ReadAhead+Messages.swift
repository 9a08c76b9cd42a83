import ScrollbackEngine
import ScrollbackModel

// The rows about single messages.

extension ReadAhead {
    /// Queues the queries for the messages, changes, actions, threads and files of footprints.
    func enqueueMessages(_ reads: ExpectedReads, on connection: PostgresConnection) throws {
        let ids = Self.parameters(reads.messages)
        try connection.enqueue(Self.message, rows: ids) { [self] key, isLarge, row in
            if !isLarge { messages[key] = .some(row) }
        }
        try connection.enqueue(Self.key, rows: ids) { [self] in keys[$0] = .some($1) }
        try connection.enqueue(Self.operation, rows: Self.parameters(reads.operations)) { [self] in
            operations[$0] = .some($1)
        }
        try connection.enqueue(Self.action, rows: Self.parameters(reads.actions)) { [self] key, row in
            actions[key, default: []] += row.map { [$0] } ?? []
        }
        let conversations = Set(reads.actions.map(\.message.conversation)).map { Parameters($0) }
        try connection.enqueue(Self.lastAction, rows: conversations) { [self] in lastActions[$0] = .some($1) }
        try connection.enqueue(Self.thread, rows: Self.parameters(reads.answered)) { [self] in take($0) }
        try connection.enqueue(Self.follower, rows: Self.parameters(reads.followers)) { [self] in take($0) }
        try connection.enqueue(Self.file, rows: reads.media.map { Parameters($0.uuid) }) { [self] id, row in
            media[id] = .some(row)
        }
    }

    private static func parameters(_ names: Set<ExpectedReads.MessageName>) -> [Parameters] {
        names.map { Parameters($0.conversation, $0.id) }
    }

    private static func parameters(_ actions: Set<ExpectedReads.Action>) -> [Parameters] {
        actions.map { Parameters($0.message.conversation, $0.message.id, $0.user) }
    }

    private static func parameters(_ followers: Set<ExpectedReads.Follower>) -> [Parameters] {
        followers.map { Parameters($0.answered.conversation, $0.answered.id, $0.user?.text ?? "") }
    }

    /// The clause for the messages of a list as `e`, and their conversations as `c`.
    private static let namedMessages = """
        unnest(?, ?, ?, ?) AS e (kind, target, part, id) JOIN conversation c USING (kind, target, part)
        """

    // MARK: Messages

    /// The columns of a message that can be large.
    private static let texts = ["metadata", "extra", "push", "content"]
    /// The number of bytes of the texts of a message.
    static let messageBytes = texts.map { "coalesce(octet_length(\($0)), 0)" }.joined(separator: " + ")

    /// Returns a query for a message and whether it has more than 8 KiB of texts.
    ///
    /// Large messages are read when they are needed, so that many of them don't fill the memory.
    private static func messageQuery(_ id: String) -> String {
        "SELECT *, \(messageBytes) > 8192 AS isLarge FROM message WHERE id = \(id) AND conversation = c.number"
    }
    /// The columns of a message `m`, with texts only if it is not large.
    static let messageColumns = MessageRow.columns.split(separator: ", ").map { column in
        texts.contains(String(column)) ? "CASE WHEN NOT m.isLarge THEN m.\(column) END" : "m.\(column)"
    }.joined(separator: ", ")

    private static let message = Statement(
        """
        SELECT c.number, e.id, coalesce(m.isLarge, false), \(messageColumns) FROM \(namedMessages)
        \(lookUp("m", messageQuery("e.id")))
        """
    ) { columns in
        (try MessageKey(&columns), columns.flag(), columns.isNextNull ? nil : try MessageRow(&columns))
    }

    private static let key = Statement(
        """
        SELECT c.number, e.id, \(prefixed(KeyRow.columns, "k")) FROM \(namedMessages)
        \(lookUp("k", "SELECT * FROM messageKey WHERE id = e.id AND conversation = c.number"))
        WHERE c.firstSeq > 1 OR c.hasDeletedRanges
        """
    ) { columns in
        (try MessageKey(&columns), columns.isNextNull ? nil : try KeyRow(&columns))
    }

    // MARK: Changes

    private static let operation = Statement(
        """
        SELECT c.number, e.id, \(prefixed(ChangeRow.columns, "o")) FROM \(namedMessages)
        \(lookUp("o", "SELECT * FROM change WHERE operation = e.id AND conversation = c.number"))
        """
    ) { columns in
        (try MessageKey(&columns), columns.isNextNull ? nil : try ChangeRow(&columns))
    }

    /// A user's actions on one message, which are few.
    private static let action = Statement(
        """
        SELECT c.number, m.seq, e.userID, \(prefixed(ActionRow.columns, "a"))
        FROM unnest(?, ?, ?, ?, ?) AS e (kind, target, part, id, userID)
        JOIN conversation c USING (kind, target, part)
        JOIN LATERAL (SELECT seq FROM message WHERE id = e.id AND conversation = c.number OFFSET 0) AS m ON true
        LEFT JOIN LATERAL (
            SELECT * FROM action
            WHERE conversation = c.number AND seq = m.seq AND sender = e.userID OFFSET 0
        ) AS a ON true
        """
    ) { columns in
        let key = ActionKey(conversation: columns.integer(), seq: columns.integer(), sender: columns.userID())
        return (key, columns.isNextNull ? nil : try ActionRow(&columns))
    }

    private static let lastAction = Statement(
        """
        SELECT c.number, a.timetoken
        FROM unnest(?, ?, ?) AS e (kind, target, part) JOIN conversation c USING (kind, target, part)
        \(lookUp("a", "SELECT timetoken FROM action WHERE conversation = c.number ORDER BY timetoken DESC LIMIT 1"))
        """
    ) { columns in
        (columns.integer(), columns.isNextNull ? nil : columns.timetoken())
    }

    // MARK: Threads

    /// The join with the ID of the first message of the thread of `e.id`, as `t.root`.
    private static let root = """
        JOIN LATERAL (
            SELECT coalesce(thread, id) AS root FROM message WHERE id = e.id AND conversation = c.number OFFSET 0
        ) AS t ON true
        """

    /// The first message of a thread, and a block of the counted indexes of its replies.
    private struct Thread {
        var key: MessageKey
        var firstBlock: Int64
        var block: BitBlock?
        var isLarge: Bool
        var row: MessageRow?
    }

    private func take(_ thread: Thread) {
        let set = BitsKey(conversation: thread.key.conversation, set: .replies(thread.key.id))
        take(set, thread.firstBlock, thread.block)
        if !thread.isLarge { messages[thread.key] = .some(thread.row) }
    }

    private static let thread = Statement(
        """
        SELECT c.number, t.root, \(firstBlock), \(prefixed(BitBlock.columns, "b")), coalesce(m.isLarge, false),
            \(messageColumns)
        FROM \(namedMessages)
        \(root)
        \(lookUp("b", bits(BitSet.repliesKind, of: "t.root::text")))
        \(lookUp("m", messageQuery("t.root")))
        """
    ) { columns in
        Thread(
            key: try MessageKey(&columns), firstBlock: columns.integer(), block: try BitBlock(ifPresent: &columns),
            isLarge: columns.flag(), row: columns.isNextNull ? nil : try MessageRow(&columns))
    }

    /// A user who may follow a thread: their state in it, and their rows in the conversation and its community.
    private struct Follower {
        var key: ThreadKey
        var community: Int64?
        var state: ThreadStateRow?
        var member: MemberRow?
        var outer: MemberRow?
    }

    private func take(_ follower: Follower) {
        let key = follower.key
        threadStates[key] = .some(follower.state)
        members[MemberKey(conversation: key.conversation, user: key.user)] = .some(follower.member)
        guard let community = follower.community else { return }
        members[MemberKey(conversation: community, user: key.user)] = .some(follower.outer)
    }

    /// An empty user ID stands for the sender of the first message.
    private static let follower = Statement(
        """
        SELECT c.number, t.root, u.userID, k.number, \(prefixed(ThreadStateRow.columns, "s")),
            \(prefixed(MemberRow.columns, "m")), \(prefixed(MemberRow.columns, "o"))
        FROM unnest(?, ?, ?, ?, ?) AS e (kind, target, part, id, userID)
        JOIN conversation c USING (kind, target, part)
        \(root)
        JOIN LATERAL (SELECT sender FROM message WHERE id = t.root AND conversation = c.number OFFSET 0) AS f ON true
        JOIN LATERAL (SELECT CASE WHEN e.userID = '' THEN f.sender ELSE e.userID END AS userID OFFSET 0) AS u ON true
        LEFT JOIN LATERAL (
            SELECT number FROM conversation
            WHERE kind = 'community' AND target = c.target AND part = '' AND c.kind = 'community' OFFSET 0
        ) AS k ON true
        LEFT JOIN LATERAL (
            SELECT * FROM threadState WHERE conversation = c.number AND userID = u.userID AND thread = t.root OFFSET 0
        ) AS s ON true
        \(lookUp("m", "SELECT * FROM member WHERE conversation = c.number AND userID = u.userID"))
        \(lookUp("o", "SELECT * FROM member WHERE conversation = k.number AND userID = u.userID"))
        """
    ) { columns in
        let (number, root) = (columns.integer(), MessageID(try columns.uuid("thread")))
        let key = ThreadKey(conversation: number, thread: root, user: columns.userID())
        return Follower(
            key: key, community: columns.optionalInteger(), state: try ThreadStateRow(ifPresent: &columns),
            member: try MemberRow(ifPresent: &columns),
            outer: columns.isNextNull ? nil : try MemberRow(&columns))
    }

    // MARK: Files

    private static let file = Statement(
        """
        SELECT e.id, \(prefixed(MediaRow.columns, "m")) FROM unnest(?) AS e (id) LEFT JOIN media m ON m.id = e.id
        """
    ) { columns in
        (MediaID(try columns.uuid("id")), columns.isNextNull ? nil : try MediaRow(&columns))
    }
}

extension ReadAhead.MessageKey {
    fileprivate init(_ columns: inout Columns) throws {
        conversation = columns.integer()
        id = MessageID(try columns.uuid("id"))
    }
}

extension StoredRow {
    /// Reads the columns of a row that may be missing.
    fileprivate init?(ifPresent columns: inout Columns) throws {
        guard columns.isNextNull else {
            self = try Self(&columns)
            return
        }
        columns.skip(Self.columns.split(separator: ", ").count)
        return nil
    }
}
