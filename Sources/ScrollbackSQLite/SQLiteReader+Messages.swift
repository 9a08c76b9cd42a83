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
            }, row: { try $0.message() })
    }

    func message(_ id: MessageID, in conversation: Int64) throws -> MessageRow? {
        try connection.first(
            .messageByID,
            bind: {
                $0.add(conversation)
                $0.add(id.uuid)
            }, row: { try $0.message() })
    }

    func message(atOrBelow seq: Seq, in conversation: Int64) throws -> MessageRow? {
        try connection.first(
            .messageAtOrBelow,
            bind: {
                $0.add(conversation)
                $0.add(seq)
            }, row: { try $0.message() })
    }

    func messages(
        in conversation: Int64, _ range: SeqRange, newestFirst: Bool, room: inout PageRoom, filter: MessageFilter,
        reader: UserID
    ) throws -> [MessageRow] {
        guard !room.isFull else { return [] }
        var rows: [MessageRow] = []
        func take(_ row: MessageRow) -> Bool {
            guard room.take(row) else { return false }
            rows.append(row)
            return !room.isFull
        }
        func bindRange(_ parameters: inout Parameters) {
            parameters.add(conversation)
            parameters.add(range.lowerBound)
            parameters.add(range.upperBound)
        }
        guard filter != .all else {
            try connection.run(
                newestFirst ? .messagesNewestFirst : .messagesOldestFirst, bind: bindRange,
                row: { take(try $0.message()) })
            return rows
        }
        let condition = FilterCondition(filter)
        try connection.run(
            once: Query.messages(newestFirst: newestFirst, where: condition.sql),
            bind: { parameters in
                bindRange(&parameters)
                for value in condition.values { parameters.add(value) }
            },
            row: { columns in
                let row = try columns.message()
                guard !filter.mentionsMe || row.attributes.mentions?.includes(reader) == true else { return true }
                return take(row)
            })
        return rows
    }
}

/// A filter as SQL, besides who was mentioned: that is read from the few messages that mention anybody.
struct FilterCondition {
    private(set) var sql = ""
    private(set) var values: [String] = []

    init(_ filter: MessageFilter) {
        if let types = filter.types { add("type IN", types.map(\.rawValue)) }
        if let types = filter.excludedTypes { add("type NOT IN", types.map(\.rawValue)) }
        if let senders = filter.senders { add("sender IN", senders.map(\.text)) }
        if let types = filter.customTypes {
            add(types.contains(nil) ? "customType IS NULL OR customType IN" : "customType IN", types.compactMap { $0 })
        }
        if filter.mentionsMe { sql += " AND mentions IS NOT NULL" }
    }

    private mutating func add(_ test: String, _ list: [String]) {
        sql += " AND (\(test) (\(list.map { _ in "?" }.joined(separator: ", "))))"
        values += list
    }
}
