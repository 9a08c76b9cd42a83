import ScrollbackEngine
import ScrollbackModel

extension PostgresReader {
    private static let messageAt = Statement<MessageRow>(
        "SELECT \(MessageRow.columns) FROM message WHERE conversation = ? AND seq = ?")

    func message(at seq: Seq, in conversation: Int64) throws -> MessageRow? {
        if let known = connection.ahead.snapshot.message(at: seq, in: conversation) { return known }
        return try connection.first(Self.messageAt) { $0.add(conversation, seq) }
    }

    private static let messageByID = Statement<MessageRow>(
        "SELECT \(MessageRow.columns) FROM message WHERE conversation = ? AND id = ?")

    func message(_ id: MessageID, in conversation: Int64) throws -> MessageRow? {
        if let known = connection.ahead.message(id, in: conversation) { return known }
        return try connection.first(Self.messageByID) { $0.add(conversation, id) }
    }

    private static let messageAtOrBelow = Statement<MessageRow>(
        "SELECT \(MessageRow.columns) FROM message WHERE conversation = ? AND seq <= ? ORDER BY seq DESC LIMIT 1")

    func message(atOrBelow seq: Seq, in conversation: Int64) throws -> MessageRow? {
        if let known = connection.ahead.snapshot.message(at: seq, in: conversation) { return known }
        return try connection.first(Self.messageAtOrBelow) { $0.add(conversation, seq) }
    }

    private static let positionAtOrBelow = Statement(
        "SELECT seq, countedIndex, timetoken FROM message WHERE conversation = ? AND seq <= ? ORDER BY seq DESC LIMIT 1"
    ) { PositionRow(&$0) }

    func position(atOrBelow seq: Seq, in conversation: Int64) throws -> PositionRow? {
        if let known = connection.ahead.position(atOrBelow: seq, in: conversation) { return known }
        return try connection.first(Self.positionAtOrBelow) { $0.add(conversation, seq) }
    }

    private static let lastPosition = Statement(
        ReadAhead.lastPosition(in: "$1", above: "$2", through: "$3", atOrBefore: "$4")
    ) { $0.integer() }

    /// Returns a time as a signed number, because PostgreSQL compares times so.
    static func signed(_ time: Timetoken) -> Int64 { Int64(clamping: time.rawValue) }

    func lastPosition(in conversation: ConversationRow, atOrBefore time: Timetoken) throws -> Seq {
        let low = conversation.firstSeq - 1
        let time = Self.signed(time)
        if let known = connection.ahead.position(atOrBefore: time, in: conversation, above: low) { return known }
        let found = try connection.first(Self.lastPosition) {
            $0.add(conversation.number, low, conversation.head, time)
        }
        return found ?? low
    }

    private static let newestFirst = Statement<MessageRow>(page(newestFirst: true))
    private static let oldestFirst = Statement<MessageRow>(page(newestFirst: false))

    /// Returns the SQL of a page that starts at either end of a range of sequence numbers.
    ///
    /// - Parameters:
    ///   - newestFirst: Whether the page starts at the upper end.
    ///   - filter: The condition for messages of the range; `nil` for all messages.
    private static func page(newestFirst: Bool, _ filter: FilterCondition? = nil) -> String {
        """
        SELECT \(MessageRow.columns) FROM message WHERE conversation = ? AND seq BETWEEN ? AND ?\(filter?.sql ?? "")
        ORDER BY seq\(newestFirst ? " DESC" : "") LIMIT ?
        """
    }

    /// The maximum number of rows of one query, so that a page that is full early reads few rows more.
    private static let rowsPerQuery = 128

    func messages(
        in conversation: Int64, _ range: SeqRange, newestFirst: Bool, budget: inout ResponseBudget,
        filter: MessageFilter,
        reader: UserID
    ) throws -> [MessageRow] {
        let condition = filter == .all ? nil : FilterCondition(filter)
        var rows: [MessageRow] = []
        var rest = range
        if condition == nil, !budget.isFull,
            let known = connection.ahead.snapshot.logs[conversation]?.messages(in: range, newestFirst: newestFirst)
        {
            for row in known.rows {
                guard budget.take(row) else { return rows }
                rows.append(row)
                if budget.isFull { return rows }
            }
            guard let unknown = known.rest else { return rows }
            rest = unknown
        }
        while !budget.isFull {
            // Only mentions of the reader are checked afterwards.
            let limit = min(Self.rowsPerQuery, filter.mentionsMe ? .max : budget.messages)
            let found = try messages(in: conversation, rest, newestFirst: newestFirst, condition, limit: limit)
            for row in found where !filter.mentionsMe || row.attributes.mentions?.includes(reader) == true {
                guard budget.take(row) else { return rows }
                rows.append(row)
                if budget.isFull { return rows }
            }
            guard found.count == limit, let last = found.last?.seq else { return rows }
            guard last != (newestFirst ? rest.lowerBound : rest.upperBound) else { return rows }
            rest = newestFirst ? rest.lowerBound...last - 1 : last + 1...rest.upperBound
        }
        return rows
    }

    private func messages(
        in conversation: Int64, _ range: SeqRange, newestFirst: Bool, _ condition: FilterCondition?, limit: Int
    ) throws -> [MessageRow] {
        guard let condition else {
            let statement = newestFirst ? Self.newestFirst : Self.oldestFirst
            return try connection.all(statement, limit: limit) { $0.add(conversation, range) }
        }
        return try connection.all(uncached: Self.page(newestFirst: newestFirst, condition)) { parameters in
            parameters.add(conversation, range)
            for value in condition.values {
                switch value {
                case .sender(let user): parameters.add(user)
                case .type(let text): parameters.add(utf8: text)
                case .thread(let id): parameters.add(id)
                }
            }
            parameters.add(Int64(limit))
        }
    }
}

extension PostgresReader {
    private static let conversationsWithMessage = Statement(
        "SELECT conversation FROM message WHERE id = ? ORDER BY conversation LIMIT ?"
    ) { $0.integer() }

    func conversations(withMessage id: MessageID, limit: Int) throws -> [Int64] {
        try connection.all(Self.conversationsWithMessage, limit: limit) { $0.add(id) }
    }

    private static let replies = Statement(
        """
        SELECT timetoken, count(*) OVER () FROM message
        WHERE conversation = ? AND thread = ? AND timetoken <= ? AND content IS NOT NULL
        ORDER BY seq DESC LIMIT 1
        """
    ) { (columns: inout Columns) -> ReplySummary in
        let last = columns.timetoken()
        return ReplySummary(count: columns.integer(), lastReplyAt: last)
    }

    func replies(in thread: MessageID, of conversation: Int64, until time: Timetoken) throws -> ReplySummary? {
        try connection.first(Self.replies) { $0.add(conversation, thread, time) }
    }
}

extension PositionRow {
    init(_ columns: inout Columns) {
        self.init(seq: columns.integer(), countedIndex: columns.integer(), timetoken: columns.timetoken())
    }
}

/// A filter as an SQL condition, except for mentions of the reader.
///
/// Mentions are checked in Swift, on the few messages that mention any user.
struct FilterCondition {
    private(set) var sql = ""
    private(set) var values: [Value] = []

    enum Value {
        case sender(UserID)
        case type(String)
        case thread(MessageID)
    }

    init(_ filter: MessageFilter) {
        if let types = filter.types { add("type", "IN", types.map { .type($0.rawValue) }) }
        if filter.hasMedia { add("type", "IN", MessageType.media.map(\.rawValue).sorted().map { .type($0) }) }
        if let types = filter.excludedTypes { add("type", "NOT IN", types.map { .type($0.rawValue) }) }
        if let senders = filter.senders { add("sender", "IN", senders.map { .sender($0) }) }
        if let types = filter.customTypes {
            let test = types.contains(nil) ? "IS NULL OR customType IN" : "IN"
            add("customType", test, types.compactMap { $0.map { .type($0) } })
        }
        if filter.mentionsMe { sql += " AND mentions IS NOT NULL" }
        if filter.excludesReplies { sql += " AND thread IS NULL" }
        if let thread = filter.thread {
            sql += " AND thread = ?"
            values.append(.thread(thread))
        }
        // The planner uses a partial index only if the query implies the index's condition.
        if let types = filter.customTypes, !types.contains(nil) { sql += " AND customType IS NOT NULL" }
        if filter.hasMedia || filter.types.map({ !$0.contains(.text) }) ?? false { sql += " AND type <> 'text'" }
    }

    private mutating func add(_ column: String, _ test: String, _ list: [Value]) {
        // PostgreSQL has no empty lists, but empty subqueries.
        let places = list.isEmpty ? "SELECT \(column) WHERE FALSE" : list.map { _ in "?" }.joined(separator: ", ")
        sql += " AND (\(column) \(test) (\(places)))"
        values += list
    }
}
