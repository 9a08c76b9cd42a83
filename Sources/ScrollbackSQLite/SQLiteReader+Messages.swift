import ScrollbackEngine
import ScrollbackModel
import StoreFiles

extension SQLiteReader {
    func message(at seq: Seq, in conversation: Int64) throws -> MessageRow? {
        try connection.first(
            .messageAt,
            bind: {
                $0.add(conversation)
                $0.add(seq)
            }, row: { try $0.message(in: conversation) })
    }

    func message(_ id: MessageID, in conversation: Int64) throws -> MessageRow? {
        try connection.first(
            .messageByID,
            bind: {
                $0.add(conversation)
                $0.add(id.uuid)
            }, row: { try $0.message(in: conversation) })
    }

    func position(atOrBelow seq: Seq, in conversation: Int64) throws -> PositionRow? {
        try connection.first(
            .placeAtOrBelow,
            bind: {
                $0.add(conversation)
                $0.add(seq)
            },
            row: {
                PositionRow(seq: $0.integer(), countedIndex: $0.integer(), timetoken: Timetoken(rawValue: $0.bits()))
            })
    }

    func message(atOrBelow seq: Seq, in conversation: Int64) throws -> MessageRow? {
        try connection.first(
            .messageAtOrBelow,
            bind: {
                $0.add(conversation)
                $0.add(seq)
            }, row: { try $0.message(in: conversation) })
    }

    func messages(
        in conversation: Int64, _ range: SeqRange, newestFirst: Bool, budget: inout ResponseBudget,
        filter: MessageFilter,
        reader: UserID
    ) throws -> [MessageRow] {
        guard !budget.isFull else { return [] }
        var rows: [MessageRow] = []
        func appendIfFits(_ row: MessageRow) -> Bool {
            guard budget.take(row) else { return false }
            rows.append(row)
            return !budget.isFull
        }
        func bindRange(_ parameters: inout Parameters) {
            parameters.add(conversation)
            parameters.add(range.lowerBound)
            parameters.add(range.upperBound)
        }
        guard filter != .all else {
            try connection.run(
                newestFirst ? .messagesNewestFirst : .messagesOldestFirst, bind: bindRange,
                row: { appendIfFits(try $0.message(in: conversation)) })
            return rows
        }
        let condition = FilterCondition(filter)
        try connection.run(
            uncached: Query.messages(newestFirst: newestFirst, index: condition.index, where: condition.sql),
            bind: { parameters in
                bindRange(&parameters)
                for value in condition.values {
                    switch value {
                    case .text(let text): parameters.add(text)
                    case .id(let id): parameters.add(id.uuid)
                    }
                }
            },
            row: { columns in
                let row = try columns.message(in: conversation)
                guard !filter.mentionsMe || row.attributes.mentions?.includes(reader) == true else { return true }
                return appendIfFits(row)
            })
        return rows
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
