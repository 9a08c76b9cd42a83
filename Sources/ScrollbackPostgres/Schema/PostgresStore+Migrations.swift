import ScrollbackModel

extension PostgresStore {
    /// A numbered change of the tables, which one transaction makes.
    struct Migration {
        var number: Int64
        var script: String
        /// Runs after the script, in the same transaction.
        var body: (PostgresConnection) throws -> Void = { _ in }
    }

    /// All migrations, oldest first.
    ///
    /// A released migration never changes.
    static var migrations: [Migration] {
        [
            Migration(number: 1, script: createTables, body: insertState),
            Migration(number: 2, script: createNotes),
            Migration(number: 3, script: addIncompleteCopies),
            Migration(number: 4, script: storeNotesUncompressed),
            Migration(number: 5, script: addDeliveredPositions),
            Migration(number: 6, script: createIncomingWebhooks),
            Migration(number: 7, script: createCancelled),
        ]
    }

    /// The key of the advisory lock that a server holds while it migrates.
    private static let lockKey: Int64 = 0x5363_726F_6C6C_6261

    private static let lock = Statement("SELECT pg_advisory_xact_lock(\(lockKey))")
    private static let createTable = Statement(
        """
        CREATE TABLE IF NOT EXISTS migration (
            number BIGINT NOT NULL PRIMARY KEY,
            at TIMESTAMPTZ NOT NULL DEFAULT now()
        )
        """)
    private static let newest = Statement("SELECT coalesce(max(number), 0) FROM migration") { $0.integer() }
    private static let record = Statement("INSERT INTO migration (number) VALUES (?)")

    /// Migrates the tables to the newest schema.
    ///
    /// Servers that start at the same time migrate one after the other.
    ///
    /// - Throws: `invalid-parameter` with both versions if a newer version of the server wrote the tables.
    static func migrate(_ connection: PostgresConnection) throws {
        let supported = migrations.last?.number ?? 0
        while true {
            try connection.enqueueBeginWrite()
            try connection.enqueue(lock)
            try connection.enqueue(createTable)
            // A statement is prepared when PostgreSQL reaches it, so the table exists.
            let found = try connection.first(newest) ?? 0
            guard found <= supported else {
                throw ChatError.invalidParameter(
                    "store",
                    "names a database with schema \(found), but this version of the server supports only "
                        + "\(supported). Start the newer version that wrote it, or restore a backup")
            }
            if let migration = migrations.first(where: { $0.number > found }) {
                try connection.execute(script: migration.script)
                try migration.body(connection)
                try connection.enqueue(record) { $0.add(migration.number) }
            }
            try connection.commit()
            if found == supported { return }
        }
    }

    /// Checks that this version of the server has written the tables, and that they have all rows.
    static func checkSchema(_ connection: PostgresConnection) throws {
        let supported = migrations.last?.number ?? 0
        let exists = try connection.first(hasMigrations) == true
        let found = try exists ? connection.first(newest) ?? 0 : 0
        guard found == supported else {
            throw ChatError.invalidParameter(
                "store",
                found == 0
                    ? "names a database without a store"
                    : "names a database with schema \(found), but this version of the program reads only \(supported). "
                        + "Use the version of the server")
        }
        try checkIsComplete(connection)
    }

    /// Checks that all rows of a store were copied, if it was moved to this database.
    static func checkIsComplete(_ connection: PostgresConnection) throws {
        guard try connection.first(isIncomplete) != true else {
            throw ChatError.invalidParameter(
                "store", "names a database to which `scrollback move` has not copied everything. Run it again")
        }
    }

    private static let hasMigrations = Statement("SELECT to_regclass('migration') IS NOT NULL") { $0.flag() }
    private static let insertStateRow = Statement(
        "INSERT INTO storeState (generation, lastCommit, newest) VALUES (?, 0, 0)")

    private static func insertState(_ connection: PostgresConnection) throws {
        var generator = SystemRandomNumberGenerator()
        try connection.run(insertStateRow) { $0.add(bits: generator.next()) }
    }
}
