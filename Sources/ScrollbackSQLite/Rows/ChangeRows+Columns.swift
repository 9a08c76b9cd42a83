import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

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
    static let columns = "conversation, seq, timetoken, sender, type, value"

    init(_ columns: inout Columns) throws {
        let (conversation, seq, timetoken) = (columns.integer(), columns.integer(), columns.timetoken())
        self.init(
            seq: seq, timetoken: timetoken, sender: columns.userID(), type: columns.text(),
            value: try columns.text("value", of: .action(conversation, seq, timetoken)))
    }
}

extension Parameters {
    mutating func add(_ row: ActionRow, in conversation: Int64) {
        add(conversation, row.seq, row.timetoken)
        add(row.sender, row.type)
        add(row.value, "value", of: .action(conversation, row.seq, row.timetoken))
    }
}
