package import Foundation
import GRDB
import ScrollbackEngine
import ScrollbackModel
package import SQLiteSupport

/// The progress of a store verification.
package struct VerifyProgress: Hashable, Sendable {
    package var conversations: Int64
    package var totalConversations: Int64
    package var messages: Int64
}

extension SQLiteStore {
    /// Verifies the file and the engine's invariants, from one snapshot and in constant memory.
    ///
    /// The server can continue to write, but the write-ahead log grows until the verification ends.
    ///
    /// - Parameters:
    ///   - blobSize: Returns the size of a blob on disk in bytes; `nil` skips the check of blobs.
    ///   - progress: Called regularly with the progress.
    /// - Returns: The findings; empty for a valid store. The verification stops after a thousand findings.
    package func verify(blobSize: BlobSize? = nil, progress: (VerifyProgress) -> Void) throws -> [String] {
        try readConnection { try Self.findings($0, blobSize, progress) }
    }

    /// Verifies a file that no process writes to, such as a backup, without changing it.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - keys: The keys of an encrypted store.
    ///   - blobSize: Returns the size of a blob on disk in bytes; `nil` skips the check of blobs.
    ///   - progress: Called regularly with the progress.
    /// - Returns: The findings. For a file of an older version, also its schema; then only its pages are checked.
    package static func verify(
        file: URL, keys: StoreKeys? = nil, blobSize: BlobSize? = nil, progress: (VerifyProgress) -> Void
    ) throws -> (findings: [String], olderSchema: Int?) {
        var configuration = Configuration()
        configuration.readonly = true
        do {
            return try DatabaseQueue(path: file.path, configuration: configuration).read { database in
                let schema = try schema(of: database)
                let connection = SQLiteConnection(database, cipher: keys.map { StoreCipher($0) })
                guard schema >= schemaVersion else { return (try connection.corruptionFindings(), schema) }
                try checkKeys(connection, keys)
                return (try findings(connection, blobSize, progress), nil)
            }
        } catch let error as DatabaseError {
            throw error.chatError("The file \(file.path) can't be read: \(error.message ?? "no reason").")
        }
    }

    private static func findings(
        _ connection: SQLiteConnection, _ blobSize: BlobSize?, _ progress: (VerifyProgress) -> Void
    ) throws -> [String] {
        try withoutActuallyEscaping(progress) { progress in
            var verification = try Verification(connection, progress)
            verification.blobSize = blobSize
            do {
                try verification.checkFile()
                try verification.checkEncryptedValues()
                try verification.checkConversations()
                try verification.checkBans()
                try verification.checkMedia()
            } catch is Verification.Stop {
                // The maximum number of findings was reached.
            } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
                verification.recordCorruption(error)
            } catch let error as ChatError where error.code == .internalError {
                // A value can't be decrypted, and the following checks depend on it.
                try? verification.found("the verification stopped early: \(error.message)")
            }
            return verification.findings
        }
    }
}

/// A running verification.
struct Verification {
    /// The error that stops the verification after too many findings.
    struct Stop: Error {}

    static let maximumFindings = 1000

    let connection: SQLiteConnection
    /// The engine's queries on the same snapshot.
    let reader: SQLiteReader
    /// Returns the size of a blob on disk in bytes; `nil` skips the check of blobs.
    var blobSize: BlobSize?
    private(set) var findings: [String] = []
    private var state: VerifyProgress
    private let report: (VerifyProgress) -> Void
    let statements: Statements

    /// The statements that run for each conversation.
    struct Statements {
        let messages, ids, members, spans, blocks, counted, mentions, replies, changes: GRDB.Statement

        init(_ database: Database) throws {
            func statement(_ sql: String) throws -> GRDB.Statement { try database.makeStatement(sql: sql) }
            messages = try statement(
                """
                SELECT seq, countedIndex, timetoken, type, flags, content IS NULL, rev FROM message
                WHERE conversation = ? ORDER BY seq
                """)
            ids = try statement("SELECT id FROM message WHERE conversation = ? ORDER BY id")
            members = try statement("SELECT \(MemberRow.columns) FROM member WHERE conversation = ? ORDER BY userID")
            spans = try statement(
                #"SELECT userID, joined, "left" FROM span WHERE conversation = ? ORDER BY userID, joined"#)
            blocks = try statement(
                "SELECT userID, block, words FROM bits WHERE conversation = ? AND kind = 2 ORDER BY userID, block")
            counted = try statement(
                """
                SELECT seq, countedIndex, sender, type, flags FROM message
                WHERE conversation = ? AND seq BETWEEN ? AND ? ORDER BY seq
                """
            )
            mentions = try statement(
                """
                SELECT mention.seq, mention.sender, message.sender FROM mention LEFT JOIN message
                ON message.conversation = mention.conversation AND message.seq = mention.seq
                WHERE mention.conversation = ?
                """)
            replies = try statement(
                """
                SELECT reply.seq, reply.countedIndex, reply.type, reply.flags, first.id, first.seq
                FROM message AS reply
                JOIN message AS first ON first.id = reply.thread AND first.conversation = reply.conversation
                WHERE reply.conversation = ? AND reply.thread IS NOT NULL ORDER BY reply.seq
                """)
            changes = try statement("SELECT rev FROM change WHERE conversation = ? ORDER BY rev")
        }
    }

    init(_ connection: SQLiteConnection, _ report: @escaping (VerifyProgress) -> Void) throws {
        self.connection = connection
        reader = SQLiteReader(connection)
        self.report = report
        statements = try Statements(connection.database)
        let total = try Int64.fetchOne(connection.database, sql: "SELECT count(*) FROM conversation") ?? 0
        state = VerifyProgress(conversations: 0, totalConversations: total, messages: 0)
    }

    mutating func found(_ finding: String) throws {
        findings.append(finding)
        if findings.count >= Self.maximumFindings { throw Stop() }
    }

    mutating func recordCorruption(_ error: DatabaseError) {
        findings.append("the file is damaged and can't be read further (\(error.message ?? "no details"))")
    }

    mutating func countMessage() {
        state.messages += 1
        if state.messages % 10_000 == 0 { report(state) }
    }

    mutating func checkFile() throws {
        for damage in try connection.corruptionFindings() { try found(damage) }
    }

    /// Decrypts all encrypted values, which detects values that were altered or moved to another row.
    mutating func checkEncryptedValues() throws {
        guard connection.cipher != nil else { return }
        try connection.encryptionState.check { try found($0) }
    }

    mutating func checkConversations() throws {
        report(state)
        var after: Int64 = 0
        while let row = try connection.nextConversation(after: after) {
            after = row.number
            try checkLog(of: row)
            try checkChanges(of: row)
            try checkMembers(of: row)
            state.conversations += 1
            report(state)
        }
        try checkOrphans()
    }

    /// Finds rows whose conversation does not exist.
    private mutating func checkOrphans() throws {
        let tables = [
            "message", "member", "span", "bits", "deletedRange", "mention", "change", "action", "messageKey", "receipt",
            "invitation", "mute", "report", "participant", "ban", "threadState",
        ]
        for table in tables {
            // Conversation 0 has the bans from the server.
            let sql = """
                SELECT DISTINCT conversation FROM \(table)
                WHERE conversation NOT IN (SELECT number FROM conversation UNION SELECT 0) LIMIT 10
                """
            try connection.run(uncached: sql) { columns in
                try found("the table \(table) has rows of conversation \(columns.integer()), which does not exist")
                return true
            }
        }
    }
}

extension SQLiteConnection {
    /// Returns the damage of the file's pages.
    fileprivate func corruptionFindings() throws -> [String] {
        var damage: [String] = []
        try run(uncached: "PRAGMA integrity_check") { columns in
            let line = columns.text()
            if line != "ok" { damage.append("the file is damaged: \(line)") }
            return true
        }
        return damage
    }

    fileprivate func nextConversation(after number: Int64) throws -> ConversationRow? {
        var row: ConversationRow?
        try run(
            uncached: "SELECT \(ConversationRow.columns) FROM conversation WHERE number > ? ORDER BY number LIMIT 1",
            bind: { $0.add(number) },
            row: {
                row = try ConversationRow(&$0)
                return false
            })
        return row
    }
}
