import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

extension SQLiteReader {
    private static let messageAt = Statement<MessageRow>(
        "SELECT \(MessageRow.columns) FROM message WHERE conversation = ? AND seq = ?")

    func message(at seq: Seq, in conversation: Int64) throws -> MessageRow? {
        try connection.first(Self.messageAt) { $0.add(conversation, seq) }
    }

    private static let messageByID = Statement<MessageRow>(
        "SELECT \(MessageRow.columns) FROM message WHERE conversation = ? AND id = ?")

    func message(_ id: MessageID, in conversation: Int64) throws -> MessageRow? {
        try connection.first(Self.messageByID) { $0.add(conversation, id) }
    }

    private static let messageAtOrBelow = Statement<MessageRow>(
        "SELECT \(MessageRow.columns) FROM message WHERE conversation = ? AND seq <= ? ORDER BY seq DESC LIMIT 1")

    func message(atOrBelow seq: Seq, in conversation: Int64) throws -> MessageRow? {
        try connection.first(Self.messageAtOrBelow) { $0.add(conversation, seq) }
    }

    private static let positionAtOrBelow = Statement(
        "SELECT seq, countedIndex, timetoken FROM message WHERE conversation = ? AND seq <= ? ORDER BY seq DESC LIMIT 1"
    ) { PositionRow(seq: $0.integer(), countedIndex: $0.integer(), timetoken: $0.timetoken()) }

    func position(atOrBelow seq: Seq, in conversation: Int64) throws -> PositionRow? {
        try connection.first(Self.positionAtOrBelow) { $0.add(conversation, seq) }
    }

    private static let newestFirst = Statement<MessageRow>(page(newestFirst: true))
    private static let oldestFirst = Statement<MessageRow>(page(newestFirst: false))

    /// Returns the SQL of a page that starts at either end of a range of sequence numbers.
    ///
    /// - Parameters:
    ///   - newestFirst: Whether the page starts at the upper end.
    ///   - filter: The condition for messages of the range; `nil` for all messages.
    static func page(newestFirst: Bool, _ filter: FilterCondition? = nil) -> String {
        """
        SELECT \(MessageRow.columns) FROM message\(filter?.index.map { " INDEXED BY \($0)" } ?? "")
        WHERE conversation = ? AND seq BETWEEN ? AND ?\(filter?.sql ?? "")
        ORDER BY seq\(newestFirst ? " DESC" : "")
        """
    }

    func messages(
        in conversation: Int64, _ range: SeqRange, newestFirst: Bool, budget: inout ResponseBudget,
        filter: MessageFilter,
        reader: UserID
    ) throws -> [MessageRow] {
        guard !budget.isFull else { return [] }
        var rows: [MessageRow] = []
        func appendIfFits(_ row: consuming MessageRow) -> Bool {
            guard budget.take(row) else { return false }
            rows.append(row)
            return !budget.isFull
        }
        guard filter != .all else {
            try connection.run(newestFirst ? Self.newestFirst : Self.oldestFirst) {
                $0.add(conversation, range)
            } row: {
                appendIfFits($0)
            }
            return rows
        }
        let condition = FilterCondition(filter)
        try connection.run(uncached: Self.page(newestFirst: newestFirst, condition)) { parameters in
            parameters.add(conversation, range)
            for value in condition.values {
                switch value {
                case .text(let text): parameters.add(text)
                case .id(let id): parameters.add(id)
                }
            }
        } row: { columns in
            let row = try MessageRow(&columns)
            guard !filter.mentionsMe || row.attributes.mentions?.includes(reader) == true else { return true }
            return appendIfFits(row)
        }
        return rows
    }
}

extension SQLiteReader {
    private static let conversationsWithMessage = Statement(
        "SELECT conversation FROM message WHERE id = ? ORDER BY conversation"
    ) { $0.integer() }

    func conversations(withMessage id: MessageID, limit: Int) throws -> [Int64] {
        try connection.all(Self.conversationsWithMessage, limit: limit) { $0.add(id) }
    }

    // The time is that of the row with the highest sequence number.
    private static let replies = Statement(
        """
        SELECT count(*), max(seq), timetoken FROM message
        WHERE conversation = ? AND thread = ? AND timetoken <= ? AND content IS NOT NULL
        """
    ) { (columns: inout Columns) -> (count: Int64, last: Timetoken) in
        let (count, _) = (columns.integer(), columns.integer())
        return (count: count, last: columns.timetoken())
    }

    func replies(in thread: MessageID, of conversation: Int64, until time: Timetoken) throws -> ReplySummary? {
        let found = try connection.first(Self.replies) { $0.add(conversation, thread, time) }
        return found.flatMap { $0.count > 0 ? ReplySummary(count: $0.count, lastReplyAt: $0.last) : nil }
    }
}

/// A filter as an SQL condition, except for mentions of the reader.
///
/// Mentions are checked in Swift, on the few messages that mention any user.
struct FilterCondition {
    private(set) var sql = ""
    private(set) var values: [Value] = []
    /// The index with few other messages, if one exists.
    private(set) var index: String?

    enum Value {
        case text(String)
        case id(MessageID)
    }

    init(_ filter: MessageFilter) {
        if let types = filter.types { add("type IN", types.map(\.rawValue)) }
        if filter.hasMedia { add("type IN", MessageType.media.map(\.rawValue).sorted()) }
        if let types = filter.excludedTypes { add("type NOT IN", types.map(\.rawValue)) }
        if let senders = filter.senders { add("sender IN", senders.map(\.text)) }
        if let types = filter.customTypes {
            add(types.contains(nil) ? "customType IS NULL OR customType IN" : "customType IN", types.compactMap { $0 })
        }
        if filter.mentionsMe { sql += " AND mentions IS NOT NULL" }
        if filter.excludesReplies { sql += " AND thread IS NULL" }
        // An empty list matches nothing, so no index is necessary.
        if filter.types?.isEmpty == true || filter.customTypes?.isEmpty == true || filter.senders?.isEmpty == true {
            return
        }
        if let thread = filter.thread {
            sql += " AND thread = ?"
            values.append(.id(thread))
            index = "message_thread"
        } else if filter.mentionsMe {
            index = "message_mentions"
        } else if let types = filter.customTypes, !types.contains(nil) {
            // SQLite uses a partial index only if the query repeats the index's condition.
            sql += " AND customType IS NOT NULL"
            index = "message_customType"
        } else if filter.hasMedia || filter.types.map({ !$0.contains(.text) }) ?? false {
            sql += " AND type <> 'text'"
            index = "message_type"
        }
    }

    private mutating func add(_ test: String, _ list: [String]) {
        sql += " AND (\(test) (\(list.map { _ in "?" }.joined(separator: ", "))))"
        values += list.map { .text($0) }
    }
}
