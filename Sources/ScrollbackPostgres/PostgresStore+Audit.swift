import Foundation
import ScrollbackEngine
import ScrollbackModel

extension AuditRow: StoredRow, Bindable {
    static let columns = "number, \(insertedColumns)"
    static let insertedColumns = "at, actor, keyID, issuedAt, action, userID, conversation, detail"

    init(_ columns: inout Columns) throws {
        let (number, at, actor) = (columns.integer(), columns.date(), columns.userID())
        let (key, issuedAt) = (columns.optionalText(), columns.optionalDate())
        let (action, user) = (columns.text(), columns.optionalUserID())
        self.init(
            number: number, at: at, actor: actor, token: issuedAt.map { TokenSource(key: key, issuedAt: $0) },
            action: action, user: user, conversation: columns.integer(), detail: try columns.optionalUTF8("detail"))
    }

    /// Binds all columns except the number.
    func bind(to parameters: inout Parameters) {
        parameters.add(at, actor, token?.key)
        parameters.add(token?.issuedAt, action, user)
        parameters.add(conversation)
        parameters.add(utf8: detail)
    }
}

extension PostgresReader {
    private static let auditOfUser = Statement<AuditRow>(
        "SELECT \(AuditRow.columns) FROM audit WHERE userID = ? AND number < ? ORDER BY number DESC LIMIT ?")
    private static let auditOfActor = Statement<AuditRow>(
        "SELECT \(AuditRow.columns) FROM audit WHERE actor = ? AND number < ? ORDER BY number DESC LIMIT ?")
    private static let auditOfConversation = Statement<AuditRow>(
        "SELECT \(AuditRow.columns) FROM audit WHERE conversation = ? AND number < ? ORDER BY number DESC LIMIT ?")
    private static let auditLog = Statement<AuditRow>(
        "SELECT \(AuditRow.columns) FROM audit WHERE number < ? ORDER BY number DESC LIMIT ?")

    func audit(_ filter: AuditFilter, below number: Int64, limit: Int) throws -> [AuditRow] {
        var rows: [AuditRow] = []
        var last = number
        while rows.count < limit {
            let found = try auditRows(filter, below: last)
            rows += found.filter { filter.includes($0) }.prefix(limit - rows.count)
            guard found.count == Self.rowsPerQuery, let next = found.last?.number else { break }
            last = next
        }
        return rows
    }

    private static let rowsPerQuery = 128

    /// The first condition selects the index, and the others filter its rows.
    private func auditRows(_ filter: AuditFilter, below number: Int64) throws -> [AuditRow] {
        let limit = Self.rowsPerQuery
        if let user = filter.user {
            return try connection.all(Self.auditOfUser, limit: limit) { $0.add(user, number) }
        }
        if let actor = filter.actor {
            return try connection.all(Self.auditOfActor, limit: limit) { $0.add(actor, number) }
        }
        if let conversation = filter.conversation {
            return try connection.all(Self.auditOfConversation, limit: limit) { $0.add(conversation, number) }
        }
        return try connection.all(Self.auditLog, limit: limit) { $0.add(number) }
    }
}

extension PostgresWriter {
    private static let insertAudit = Statement(
        "INSERT INTO audit (\(AuditRow.insertedColumns)) VALUES (\(placeholders(AuditRow.insertedColumns)))")

    func insert(_ row: AuditRow) throws {
        try connection.enqueue(Self.insertAudit) { $0.add(row) }
    }

    private static let renameAuditUser = Statement("UPDATE audit SET userID = ? WHERE userID = ?")

    func renameAuditUser(_ user: UserID, to replacement: UserID) throws {
        try connection.enqueue(Self.renameAuditUser) { $0.add(replacement, user) }
    }

    private static let dropAudit = Statement(
        "DELETE FROM audit WHERE number IN (SELECT number FROM audit WHERE at < ? LIMIT ?)")

    func dropAudit(before time: Date, limit: Int) throws -> Int {
        try connection.run(Self.dropAudit, bind: { $0.add(time, Int64(limit)) })
    }
}
