import ScrollbackEngine
import ScrollbackModel

extension ChangeRow: StoredRow, Bindable {
    static let columns = "rev, kind, lower, upper, at, operation, digest, answer"

    init(_ columns: inout Columns) throws {
        self.init(
            rev: columns.integer(), kind: try columns.enumValue("kind"), places: try columns.range(),
            at: columns.timetoken(), operation: columns.optionalMessageID(), digest: columns.integer(),
            answer: columns.integer())
    }

    func bind(to parameters: inout Parameters) {
        parameters.add(rev, kind.rawValue, places, at)
        parameters.add(operation, digest, answer)
    }
}

extension KeyRow: StoredRow, Bindable {
    static let columns = "id, sender, digest, seq, countedIndex, timetoken"

    init(_ columns: inout Columns) throws {
        self.init(
            id: MessageID(try columns.uuid("id")), sender: columns.userID(), digest: columns.integer(),
            seq: columns.integer(), countedIndex: columns.integer(), timetoken: columns.timetoken())
    }

    func bind(to parameters: inout Parameters) {
        parameters.add(id, sender, digest)
        parameters.add(seq, countedIndex, timetoken)
    }
}

extension ActionRow: StoredRow {
    static let columns = "seq, timetoken, sender, type, value"

    init(_ columns: inout Columns) throws {
        self.init(
            seq: columns.integer(), timetoken: columns.timetoken(), sender: columns.userID(),
            type: try columns.utf8("type"),
            value: try columns.utf8("value"))
    }
}

extension Parameters {
    mutating func add(_ row: ActionRow, in conversation: Int64) {
        add(conversation, row.seq, row.timetoken)
        add(row.sender)
        add(utf8: row.type)
        add(utf8: row.value)
    }
}
