package import GRDB
import ScrollbackModel
import SQLiteSupport

extension SQLiteStore {
    /// The newest schema that this version supports.
    static let schemaVersion = 25

    /// The migrations of a file to the newest schema, each in its own transaction.
    ///
    /// A released migration never changes. A new migration also changes ``tables``.
    package static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1", migrate: createTables)
        migrator.registerMigration("2", migrate: createMediaTables)
        migrator.registerMigration("3", migrate: createModerationTables)
        migrator.registerMigration("4", migrate: addModerationFlags)
        migrator.registerMigration("5", migrate: addRecentsColumns)
        migrator.registerMigration("6", migrate: createPeopleTables)
        migrator.registerMigration("7", migrate: createAdminTables)
        migrator.registerMigration("8", migrate: createPushTables)
        migrator.registerMigration("9", migrate: EncryptionSchema.create)
        migrator.registerMigration("10", migrate: createUsageTable)
        migrator.registerMigration("11", migrate: addMembershipEnds)
        migrator.registerMigration("12", migrate: createIncarnationTable)
        migrator.registerMigration("13") { database in
            try database.execute(sql: "CREATE INDEX action_pin ON action (conversation, seq) WHERE type = 'pin'")
        }
        migrator.registerMigration("14", migrate: addThreads)
        migrator.registerMigration("15", migrate: createDraftTable)
        migrator.registerMigration("16", migrate: addDeliveryLog)
        migrator.registerMigration("17", migrate: createAuditTable)
        migrator.registerMigration("18", migrate: createScheduledTable)
        migrator.registerMigration("19", migrate: addDeliveryIndexes)
        migrator.registerMigration("20") { database in
            try database.execute(sql: "ALTER TABLE media ADD COLUMN neededUntil REAL")
        }
        migrator.registerMigration("21") { database in
            try database.execute(sql: "ALTER TABLE receipt ADD COLUMN deliveredSeq INTEGER NOT NULL DEFAULT 0")
        }
        migrator.registerMigration("22", migrate: createIncomingWebhookTable)
        migrator.registerMigration("23", migrate: createCancelledTable)
        migrator.registerMigration("24", migrate: renameTablesAndColumns)
        migrator.registerMigration("25", migrate: replaceListsInChecks)
        return migrator
    }

    /// Migrates a file to the newest schema; a new file gets the newest tables directly.
    ///
    /// - Throws: `internal-error` with both versions if a newer version of the server wrote the file.
    static func migrate(_ pool: DatabasePool, at path: String) throws {
        let migrator = Self.migrator
        let found = try pool.read { try migrator.appliedIdentifiers($0).compactMap { Int($0) }.max() ?? 0 }
        guard found <= schemaVersion else {
            throw ChatError(
                .internalError,
                "\(path) has schema \(found), but this version of the server supports only \(schemaVersion). "
                    + "Start the newer version that wrote it, or restore a backup.")
        }
        try migrator.migrate(pool, creatingIfEmpty: createNewestTables)
    }

    /// Creates the newest tables with the rows that a new store has.
    private static func createNewestTables(_ database: Database) throws {
        for group in tables { try database.execute(sql: group) }
        try EncryptionSchema.create(database)
        try insertState(database, lastCommit: "lastCommit")
    }

    /// Stores a new generation, and 0 as the last commit.
    ///
    /// - Parameter lastCommit: The name of the row of the last commit.
    static func insertState(_ database: Database, lastCommit: String) throws {
        var generator = SystemRandomNumberGenerator()
        try database.execute(
            sql: "INSERT INTO meta (name, value) VALUES ('generation', ?), (?, 0)",
            arguments: [Int64(bitPattern: generator.next()), lastCommit])
    }

    /// Reads the state that the writer keeps in memory.
    static func loadState(_ database: Database) throws -> (generation: UInt64, lastCommit: Int64, newest: Timetoken) {
        func meta(_ name: String) throws -> Int64? {
            try Int64.fetchOne(database, sql: "SELECT value FROM meta WHERE name = ?", arguments: [name])
        }
        guard let generation = try meta("generation") else {
            throw ChatError(.internalError, "The store has no generation.")
        }
        // Timetokens are unsigned 64-bit numbers in signed columns, so negative values are the highest.
        let row = try Row.fetchOne(
            database,
            sql: """
                SELECT max(lastCommit), ifnull(max(timetoken) FILTER (WHERE timetoken < 0), max(timetoken))
                FROM conversation
                """)
        return (
            UInt64(bitPattern: generation), max(try meta("lastCommit") ?? 0, row?[0] ?? 0),
            Timetoken(rawValue: UInt64(bitPattern: row?[1] ?? 0))
        )
    }
}
