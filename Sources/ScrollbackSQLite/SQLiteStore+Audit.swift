import Foundation
import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

extension AuditRow: StoredRow, Bindable {
    static let columns = "number, \(insertedColumns)"
    static let insertedColumns = "at, actor, keyID, issuedAt, action, userID, conversation, detail"

    init(_ columns: inout Columns) throws {
        let (number, at, actor) = (columns.integer(), columns.date(), columns.userID())
        let (key, issuedAt) = (columns.optionalText(), columns.optionalDate())
        let (action, user) = (columns.text(), columns.optionalUserID())
        self.init(
            number: number, at: at, actor: actor, token: issuedAt.map { TokenSource(key: key, issuedAt: $0) },
            action: action, user: user, conversation: columns.integer(), detail: columns.optionalText())
    }

    /// Binds all columns except the number.
    func bind(to parameters: inout Parameters) {
        parameters.add(at, actor, token?.key)
        parameters.add(token?.issuedAt, action, user)
        parameters.add(conversation, detail)
    }
}

extension SQLiteReader {
    private static let auditOfUser = Statement<AuditRow>(
        "SELECT \(AuditRow.columns) FROM audit WHERE userID = ? AND number < ? ORDER BY number DESC")
    private static let auditOfActor = Statement<AuditRow>(
        "SELECT \(AuditRow.columns) FROM audit WHERE actor = ? AND number < ? ORDER BY number DESC")
    private static let auditOfConversation = Statement<AuditRow>(
        "SELECT \(AuditRow.columns) FROM audit WHERE conversation = ? AND number < ? ORDER BY number DESC")
    private static let auditLog = Statement<AuditRow>(
        "SELECT \(AuditRow.columns) FROM audit WHERE number < ? ORDER BY number DESC")

    func audit(_ filter: AuditFilter, below number: Int64, limit: Int) throws -> [AuditRow] {
        var rows: [AuditRow] = []
        func collect(_ row: AuditRow) -> Bool {
            if filter.includes(row) { rows.append(row) }
            return rows.count < limit
        }
        // The first condition selects the index, and the others filter its rows.
        if let user = filter.user {
            try connection.run(Self.auditOfUser, bind: { $0.add(user, number) }, row: collect)
        } else if let actor = filter.actor {
            try connection.run(Self.auditOfActor, bind: { $0.add(actor, number) }, row: collect)
        } else if let conversation = filter.conversation {
            try connection.run(Self.auditOfConversation, bind: { $0.add(conversation, number) }, row: collect)
        } else {
            try connection.run(Self.auditLog, bind: { $0.add(number) }, row: collect)
        }
        return rows
    }
}

extension SQLiteWriter {
    private static let insertAudit = Statement(
        "INSERT INTO audit (\(AuditRow.insertedColumns)) VALUES (\(placeholders(AuditRow.insertedColumns)))")

    func insert(_ row: AuditRow) throws {
        try connection.run(Self.insertAudit) { $0.add(row) }
    }

    private static let renameAuditUser = Statement("UPDATE audit SET userID = ? WHERE userID = ?")

    func renameAuditUser(_ user: UserID, to replacement: UserID) throws {
        try connection.run(Self.renameAuditUser) { $0.add(replacement, user) }
    }

    private static let dropAudit = Statement(
        "DELETE FROM audit WHERE number IN (SELECT number FROM audit WHERE at < ? LIMIT ?)")

    func dropAudit(before time: Date, limit: Int) throws -> Int {
        try connection.run(Self.dropAudit) { $0.add(time, Int64(limit)) }
        return connection.changes
    }
}
