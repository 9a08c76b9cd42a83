import GRDB
import ScrollbackModel
package import SQLiteSupport

extension EncryptedTable {
    /// All tables of the client's store that contain encrypted texts.
    ///
    /// All other columns stay readable (Documentation/threat-model.md). A new table is the last one, because the
    /// position of an interrupted encryption has the index of its table.
    static let ofClient = [
        // The row's number is assigned by the insert that needs it, so the encryption binds the ID instead.
        EncryptedTable("conversation", key: ["number"], binding: ["id"], texts: ["name", "avatar", "extension"]),
        EncryptedTable(
            "message", key: ["conversation", "seq"],
            texts: ["content", "mentions", "metadata", "extra", "push", "actions"]),
        EncryptedTable("outbox", key: ["id"], texts: ["error", "body"]),
        EncryptedTable("person", key: ["user"], texts: ["profile"]),
        EncryptedTable("draft", key: ["conversation"], texts: ["body"]),
        EncryptedTable("extension", key: ["conversation", "message"], texts: ["body"]),
        EncryptedTable("upload", key: ["media", "message"], binding: ["media"], texts: ["name", "url"]),
        EncryptedTable("keptMessage", key: ["conversation", "seq"], texts: ["body"]),
    ]
}

/// The rows in the form in which ``EncryptedTable/ofClient`` binds them.
extension EncryptedRow {
    static func conversation(_ id: ConversationID) -> EncryptedRow {
        EncryptedRow("conversation", .text(id.description))
    }

    static func message(_ conversation: Int64, _ seq: Seq) -> EncryptedRow {
        EncryptedRow("message", .number(conversation), .number(seq))
    }

    static func outbox(_ id: MessageID) -> EncryptedRow { EncryptedRow("outbox", .bytes(id.uuid)) }

    static func keptMessage(_ conversation: Int64, _ seq: Seq) -> EncryptedRow {
        EncryptedRow("keptMessage", .number(conversation), .number(seq))
    }

    static func person(_ user: UserID) -> EncryptedRow { EncryptedRow("person", .text(user.text)) }

    static func draft(_ conversation: ConversationID) -> EncryptedRow {
        EncryptedRow("draft", .text(conversation.description))
    }

    static func localExtension(_ message: MessageID, _ conversation: ConversationID) -> EncryptedRow {
        EncryptedRow("extension", .text(conversation.description), .bytes(message.uuid))
    }

    static func upload(_ media: MediaID) -> EncryptedRow { EncryptedRow("upload", .text(media.description)) }
}

extension LocalReader {
    /// Returns the stored form of a text.
    func stored(_ text: String?, _ column: String, of row: EncryptedRow) throws -> DatabaseValue {
        guard let text else { return .null }
        return try cipher?.encryptedValue(text, column, of: row) ?? text.databaseValue
    }

    /// Returns the plain text of a stored value.
    func text(_ value: DatabaseValue, _ column: String, of row: EncryptedRow) throws -> String? {
        try cipher?.decryptedText(value, column, of: row) ?? String.fromDatabaseValue(value)
    }

    /// Returns the stored forms of a row's texts, keeping the current form of unchanged texts.
    ///
    /// Encrypting an unchanged text again would look like a change.
    func stored(
        _ texts: KeyValuePairs<String, String?>, of row: EncryptedRow, numbered number: Int64
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

    private var encryptionState: StoreEncryptionState<SealedDatabase> {
        StoreEncryptionState(EncryptedTable.ofClient, on: SealedDatabase(reader: self))
    }

    /// Checks that all keys that the store is encrypted with are available.
    ///
    /// - Throws: `invalid-parameter` naming the missing keys.
    func checkKeys(name: String) throws {
        let missing = try encryptionState.missingKeys(in: cipher?.keys)
        guard missing.isEmpty else {
            throw ChatError.invalidParameter(name, StoreKeys.missingKeysMessage(for: missing, given: cipher?.keys))
        }
    }

    /// Returns descriptions of all values that can't be decrypted.
    func undecryptableValues() throws -> [String] {
        var found: [String] = []
        try encryptionState.check { found.append($0) }
        return found
    }

    /// Returns the progress of the store's encryption, or `nil` if it was never encrypted.
    package func encryptionProgress() throws -> EncryptionProgress? { try encryptionState.progress() }
}

extension LocalWriter {
    private var encryptionState: StoreEncryptionState<SealedDatabase> {
        StoreEncryptionState(EncryptedTable.ofClient, on: SealedDatabase(reader: reader))
    }

    /// Records the key that the whole store is to be encrypted with.
    func adoptKeys() throws {
        guard let keys = reader.cipher?.keys else { return }
        if try encryptionState.needsReencryption(with: keys) { try encryptionState.startReencryption(with: keys) }
        // The index of an encrypted store is kept in memory only, from the first search on.
        if keys.newest != nil { try deleteIndexRecord() }
    }

    /// Encrypts or decrypts the next rows.
    ///
    /// - Returns: Whether there are more rows.
    package func encryptNextRows(limit: Int = 200) throws -> Bool { try encryptionState.encryptNextRows(limit: limit) }

    package func finishEncryption() throws { try encryptionState.finish() }
}

extension LocalStore {
    /// Whether the store is encrypted with a current key, so that no plain text may be written to disk.
    var isEncrypted: Bool { cipher?.newest != nil }

    /// Encrypts all rows with the newest key while the store remains in use.
    func encryptRows() async throws(ChatError) {
        guard cipher != nil, let progress = try await read({ try $0.encryptionProgress() }), !progress.isDone else {
            return
        }
        let clock = ContinuousClock()
        while true {
            if Task.isCancelled { throw ClientCore.closed }
            let start = clock.now
            let isMore = try await write(notifiesRecents: false) { try $0.encryptNextRows() }
            guard isMore else { break }
            // Leave other transactions as much time as the last step took.
            try? await Task.sleep(for: clock.now - start)
        }
        try await write(notifiesRecents: false) { try $0.finishEncryption() }
        // Truncate the write-ahead log, which still contains overwritten texts.
        _ = try? await database.writeWithoutTransaction { db in try db.checkpoint(.truncate) }
    }
}

private struct SealedDatabase: EncryptingConnection {
    let reader: LocalReader

    func run(uncached sql: String, bind: (inout Parameters) -> Void, row: (inout Columns) throws -> Bool) throws {
        try reader.db.makeStatement(sql: sql).run(cipher: reader.cipher, bind: bind, row: row) { code, _ in
            DatabaseError(resultCode: ResultCode(rawValue: code), sql: sql)
        }
    }
}
