import GRDB
import ScrollbackModel
package import StoreFiles

extension SealedTable {
    /// Every table of a client's store that has texts.
    ///
    /// What is in none of these columns stays readable (Documentation/threat-model.md).
    static let ofClient = [
        // Its number is given by the insert that has to know it.
        SealedTable("conversation", key: ["number"], binding: ["id"], texts: ["name", "avatar", "extension"]),
        SealedTable(
            "message", key: ["conversation", "seq"],
            texts: ["content", "mentions", "metadata", "extra", "push", "actions"]),
        SealedTable("outbox", key: ["id"], texts: ["error", "body"]),
        SealedTable("person", key: ["user"], texts: ["profile"]),
        SealedTable("draft", key: ["conversation"], texts: ["body"]),
        SealedTable("extension", key: ["conversation", "message"], texts: ["body"]),
        SealedTable("upload", key: ["media"], texts: ["name", "url"]),
    ]
}

/// The rows as ``SealedTable/ofClient`` binds them.
extension SealedRow {
    static func conversation(_ id: ConversationID) -> SealedRow { SealedRow("conversation", .text(id.description)) }

    static func message(_ conversation: Int64, _ seq: Seq) -> SealedRow {
        SealedRow("message", .number(conversation), .number(seq))
    }

    static func outbox(_ id: MessageID) -> SealedRow { SealedRow("outbox", .bytes(id.uuid)) }

    static func person(_ user: UserID) -> SealedRow { SealedRow("person", .text(user.text)) }

    static func draft(_ conversation: ConversationID) -> SealedRow {
        SealedRow("draft", .text(conversation.description))
    }

    static func localExtension(_ message: MessageID, _ conversation: ConversationID) -> SealedRow {
        SealedRow("extension", .text(conversation.description), .bytes(message.uuid))
    }

    static func upload(_ media: MediaID) -> SealedRow { SealedRow("upload", .text(media.description)) }
}

extension LocalReader {
    /// A text as it lies in the store.
    func stored(_ text: String?, _ column: String, of row: SealedRow) throws -> DatabaseValue {
        guard let text else { return .null }
        return try cipher?.sealed(text, column, of: row) ?? text.databaseValue
    }

    /// A text of the store as it is.
    func text(_ value: DatabaseValue, _ column: String, of row: SealedRow) throws -> String? {
        try cipher?.opened(value, column, of: row) ?? String.fromDatabaseValue(value)
    }

    /// Texts of a row as they lie in the store; those that are there already stay as they are, since sealed anew they would
    /// look like a change.
    func stored(
        _ texts: KeyValuePairs<String, String?>, of row: SealedRow, numbered number: Int64
    ) throws -> [DatabaseValue] {
        guard cipher != nil else { return texts.map { $0.value?.databaseValue ?? .null } }
        let columns = texts.map(\.key).joined(separator: ", ")
        let before = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT \(columns) FROM \(row.table) WHERE number = ?"), arguments: [number])
        return try texts.enumerated().map { index, text in
            if let before, try self.text(before[index], text.key, of: row) == text.value { return before[index] }
            return try stored(text.value, text.key, of: row)
        }
    }

    private var seals: StoreSeals<SealedDatabase> { StoreSeals(SealedTable.ofClient, on: SealedDatabase(reader: self)) }

    /// Makes sure that everything which is sealed can be opened, before anything is.
    ///
    /// - Throws: `invalid-parameter` naming the keys that are missing.
    func checkKeys(name: String) throws {
        let missing = try seals.missingKeys(in: cipher?.keys)
        guard missing.isEmpty else {
            throw ChatError.invalidParameter(name, StoreKeys.refusal(of: missing, given: cipher?.keys))
        }
    }

    /// Values that do not open.
    func unopened() throws -> [String] {
        var found: [String] = []
        try seals.check { found.append($0) }
        return found
    }

    /// How far everything is sealed; nothing for a store that never was.
    package func sealingProgress() throws -> SealingProgress? { try seals.progress() }
}

extension LocalWriter {
    private var seals: StoreSeals<SealedDatabase> {
        StoreSeals(SealedTable.ofClient, on: SealedDatabase(reader: reader))
    }

    /// Notes the key that is to seal everything.
    func adoptKeys() throws {
        guard let keys = reader.cipher?.keys else { return }
        if try seals.isNew(keys) { try seals.adopt(keys) }
        // Its words are in memory, from when they are first asked for.
        if keys.newest != nil { try forgetIndex() }
    }

    /// Seals the next rows, or takes their seals off.
    ///
    /// - Returns: whether there are more.
    package func sealSome(rows limit: Int = 200) throws -> Bool { try seals.sealSome(rows: limit) }

    package func finishSealing() throws { try seals.finish() }
}

extension LocalStore {
    /// Whether nothing of what is said may lie on the device as it is.
    var isSealed: Bool { cipher?.newest != nil }

    /// Brings everything in step with the newest key, while the store is used.
    func seal() async throws(ChatError) {
        guard cipher != nil, let progress = try await read({ try $0.sealingProgress() }), !progress.isDone else {
            return
        }
        let clock = ContinuousClock()
        while true {
            if Task.isCancelled { throw ClientCore.closed }
            let start = clock.now
            let isMore = try await write(tellsRecents: false) { try $0.sealSome() }
            guard isMore else { break }
            // As long for others.
            try? await Task.sleep(for: clock.now - start)
        }
        try await write(tellsRecents: false) { try $0.finishSealing() }
        // What was overwritten is not to lie beside the file, where nobody reads it just now.
        _ = try? await database.writeWithoutTransaction { db in try db.checkpoint(.truncate) }
    }
}

private struct SealedDatabase: SealingConnection {
    let reader: LocalReader

    func run(once sql: String, bind: (inout Parameters) -> Void, row: (inout Columns) throws -> Bool) throws {
        try reader.db.makeStatement(sql: sql).run(cipher: reader.cipher, bind: bind, row: row) { code, _ in
            DatabaseError(resultCode: ResultCode(rawValue: code), sql: sql)
        }
    }
}
