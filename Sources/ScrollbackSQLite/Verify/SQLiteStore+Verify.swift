package import Foundation
import GRDB
import ScrollbackEngine
import ScrollbackModel
package import StoreFiles

/// How far a check of a store has come.
package struct VerifyProgress: Hashable, Sendable {
    package var conversations: Int64
    package var totalConversations: Int64
    package var messages: Int64
}

extension SQLiteStore {
    /// Checks the file, and everything the engine relies on in it, from one snapshot and in constant memory.
    ///
    /// The server can go on meanwhile, but the log of recent commits grows until the check has ended.
    ///
    /// - Parameters:
    ///   - blobSize: tells how many bytes of a file are on disk; without it they are not looked for.
    ///   - progress: told now and then how far it has come.
    /// - Returns: what is wrong, in words; empty for a sound store. After a thousand findings it stops.
    package func verify(blobSize: BlobSize? = nil, progress: (VerifyProgress) -> Void) throws -> [String] {
        try readConnection { try Self.findings($0, blobSize, progress) }
    }

    /// Checks a file that nobody writes to, such as a backup's, and leaves it as it is.
    ///
    /// - Parameter keys: of a store that is sealed.
    /// - Returns: what is wrong, and the schema of a file that an older version wrote: of that only the pages are checked.
    package static func verify(
        file: URL, keys: StoreKeys? = nil, blobSize: BlobSize? = nil, progress: (VerifyProgress) -> Void
    ) throws -> (findings: [String], olderSchema: Int?) {
        var configuration = Configuration()
        configuration.readonly = true
        do {
            return try DatabaseQueue(path: file.path, configuration: configuration).read { database in
                let schema = try schema(of: database)
                let connection = Connection(database, cipher: keys.map { StoreCipher($0) })
                guard schema >= schemaVersion else { return (try connection.damage(), schema) }
                try checkKeys(connection, keys)
                return (try findings(connection, blobSize, progress), nil)
            }
        } catch let error as DatabaseError {
            throw error.chatError("\(file.path) can't be read: \(error.message ?? "no reason given")")
        }
    }

    private static func findings(
        _ connection: Connection, _ blobSize: BlobSize?, _ progress: (VerifyProgress) -> Void
    ) throws -> [String] {
        try withoutActuallyEscaping(progress) { progress in
            var verification = try Verification(connection, progress)
            verification.blobSize = blobSize
            do {
                try verification.checkFile()
                try verification.checkSeals()
                try verification.checkConversations()
                try verification.checkBans()
                try verification.checkMedia()
            } catch is Verification.Stop {
                // Enough was found.
            } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
                verification.foundDamage(error)
            } catch let error as ChatError where error.code == .internalError {
                // What can't be read, because its seal does not open: the rest leans on it.
                try? verification.found("what comes after can't be checked: \(error.message)")
            }
            return verification.findings
        }
    }
}

/// A check under way.
struct Verification {
    /// Thrown when enough was found.
    struct Stop: Error {}

    static let maximumFindings = 1000

    let connection: Connection
    /// The engine's own questions, of the same snapshot.
    let reader: SQLiteReader
    /// Tells how many bytes of a file are on disk, where that is asked for.
    var blobSize: BlobSize?
    private(set) var findings: [String] = []
    private var state: VerifyProgress
    private let report: (VerifyProgress) -> Void
    let statements: Statements

    /// What is asked of every conversation.
    struct Statements {
        let messages, ids, members, spans, blocks, counted, mentions, changes: Statement

        init(_ database: Database) throws {
            func statement(_ sql: String) throws -> Statement { try database.makeStatement(sql: sql) }
            messages = try statement(
                """
                SELECT seq, n, timetoken, type, flags, content IS NULL, rev FROM message WHERE conversation = ?
                ORDER BY seq
                """)
            ids = try statement("SELECT id FROM message WHERE conversation = ? ORDER BY id")
            members = try statement("SELECT \(Query.memberColumns) FROM member WHERE conversation = ? ORDER BY user")
            spans = try statement(
                #"SELECT user, joined, "left" FROM span WHERE conversation = ? ORDER BY user, joined"#)
            blocks = try statement(
                "SELECT user, block, words FROM bits WHERE conversation = ? AND kind = 2 ORDER BY user, block")
            counted = try statement(
                "SELECT seq, n, sender, type, flags FROM message WHERE conversation = ? AND seq BETWEEN ? AND ? ORDER BY seq"
            )
            mentions = try statement(
                """
                SELECT mention.seq, mention.sender, message.sender FROM mention LEFT JOIN message
                ON message.conversation = mention.conversation AND message.seq = mention.seq
                WHERE mention.conversation = ?
                """)
            changes = try statement("SELECT rev FROM change WHERE conversation = ? ORDER BY rev")
        }
    }

    init(_ connection: Connection, _ report: @escaping (VerifyProgress) -> Void) throws {
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

    mutating func foundDamage(_ error: DatabaseError) {
        findings.append("the file is damaged: what comes after can't be read (\(error.message ?? "no more is known"))")
    }

    mutating func countMessage() {
        state.messages += 1
        if state.messages % 10_000 == 0 { report(state) }
    }

    mutating func checkFile() throws {
        for damage in try connection.damage() { try found(damage) }
    }

    /// Opens everything that is sealed: a value that was altered or is another row's does not.
    mutating func checkSeals() throws {
        guard connection.cipher != nil else { return }
        try connection.seals.check { try found($0) }
    }

    mutating func checkConversations() throws {
        report(state)
        var after: Int64 = 0
        while let row = try connection.nextConversation(after: after) {
            after = row.number
            try checkLog(of: row)
            try checkChanges(of: row)
            try checkPeople(of: row)
            state.conversations += 1
            report(state)
        }
        try checkOrphans()
    }

    /// Rows whose conversation is not there.
    private mutating func checkOrphans() throws {
        let tables = [
            "message", "member", "span", "bits", "void", "mention", "change", "action", "retired", "receipt",
            "invitation", "mute", "report", "guest", "ban",
        ]
        for table in tables {
            // Of 0 are bans from the server.
            let sql = """
                SELECT DISTINCT conversation FROM \(table)
                WHERE conversation NOT IN (SELECT number FROM conversation UNION SELECT 0) LIMIT 10
                """
            try connection.run(once: sql) { columns in
                try found("the table \(table) has rows of a conversation \(columns.integer()) that is not there")
                return true
            }
        }
    }
}

extension Connection {
    /// What is wrong with the pages of the file.
    fileprivate func damage() throws -> [String] {
        var damage: [String] = []
        try run(once: "PRAGMA integrity_check") { columns in
            let line = columns.text()
            if line != "ok" { damage.append("the file is damaged: \(line)") }
            return true
        }
        return damage
    }

    fileprivate func nextConversation(after number: Int64) throws -> ConversationRow? {
        var row: ConversationRow?
        try run(
            once: "SELECT \(Query.conversationColumns) FROM conversation WHERE number > ? ORDER BY number LIMIT 1",
            bind: { $0.add(number) },
            row: {
                row = try $0.conversation()
                return false
            })
        return row
    }
}
