import ScrollbackModel

extension PostgresStore {
    /// A numbered change of the tables, which one transaction makes.
    ///
    /// Its number is that of the schema after it.
    package struct Migration {
        package var number: Int64
        /// The oldest schema whose servers can use the tables after the change.
        ///
        /// If it is this one, all other servers must have stopped. An earlier one is right if the change only adds
        /// tables, indexes and columns with a default, which earlier versions can ignore
        /// (Documentation/decisions/0067-nodes-of-two-versions.md).
        package var oldestUser: Int64
        package var script: String
        /// Runs after the script, in the same transaction.
        package var body: (PostgresConnection) throws -> Void

        package init(
            number: Int64, oldestUser: Int64? = nil, script: String,
            body: @escaping (PostgresConnection) throws -> Void = { _ in }
        ) {
            self.number = number
            self.oldestUser = oldestUser ?? number
            self.script = script
            self.body = body
        }
    }

    /// All migrations, oldest first.
    ///
    /// A released migration never changes.
    package static var migrations: [Migration] {
        [
            Migration(number: 1, script: createTables, body: insertState),
            Migration(number: 2, script: createNotes),
            Migration(number: 3, script: addIncompleteCopies),
            Migration(number: 4, script: storeNotesUncompressed),
            Migration(number: 5, script: addDeliveredPositions),
            Migration(number: 6, script: createIncomingWebhooks),
            Migration(number: 7, script: createCancelled),
            Migration(number: 8, script: addOldestUser),
        ]
    }

    /// The newest schema that this version of the server supports.
    static let schema = migrations.last?.number ?? 0

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
    /// Locks the state as the transactions of nodes do, which lock it before they use tables.
    private static let oldestUser = Statement("SELECT oldestSchema FROM storeState FOR NO KEY UPDATE") { $0.integer() }
    private static let setOldestUser = Statement("UPDATE storeState SET oldestSchema = greatest(oldestSchema, ?)")

    /// The first schema that names the oldest one whose servers can use the tables.
    private static let firstWithOldestUser: Int64 = 8

    /// Migrates the tables to the newest schema, unless they have a newer one that this version can use.
    ///
    /// Servers that start at the same time migrate one after the other.
    ///
    /// - Parameter isAlone: Whether no other server uses the database.
    /// - Throws: `invalid-parameter` with both versions if this version can't use the tables, or other servers could
    ///   not use them after the migration.
    package static func migrate(
        _ connection: PostgresConnection, to migrations: [Migration] = migrations, isAlone: Bool
    ) throws {
        let supported = migrations.last?.number ?? 0
        while true {
            try connection.enqueueBeginWrite()
            try connection.enqueue(lock)
            try connection.enqueue(createTable)
            // A statement is prepared when PostgreSQL reaches it, so the table exists.
            let found = try connection.first(newest) ?? 0
            // Until the migration has its locks, the transactions of other nodes wait behind it.
            if !isAlone { try connection.execute(script: "SET LOCAL lock_timeout = 2000") }
            let oldest = try lockingBriefly {
                try found < firstWithOldestUser ? found : connection.first(oldestUser) ?? found
            }
            guard oldest <= supported else {
                throw ChatError.invalidParameter(
                    "store",
                    "names a database with schema \(found), but this version of the server supports only "
                        + "\(supported). Start the newer version that wrote it, or restore a backup")
            }
            if let migration = migrations.first(where: { $0.number > found }) {
                guard isAlone || migration.oldestUser <= oldest else {
                    throw ChatError.invalidParameter(
                        "store",
                        "names a database with schema \(found), which other nodes use. They could not use schema "
                            + "\(migration.number) of this version. Stop all nodes, then start this version")
                }
                try lockingBriefly { try run(migration, on: connection) }
            }
            try connection.commit()
            if found >= supported { return }
        }
    }

    private static func run(_ migration: Migration, on connection: PostgresConnection) throws {
        try connection.execute(script: migration.script)
        try migration.body(connection)
        try connection.enqueue(record) { $0.add(migration.number) }
        guard migration.number >= firstWithOldestUser else { return }
        try connection.enqueue(setOldestUser) { $0.add(migration.oldestUser) }
    }

    private static func lockingBriefly<Answer>(_ body: () throws -> Answer) throws -> Answer {
        do {
            return try body()
        } catch PostgresError.refused(state: "55P03", _) {
            throw ChatError.invalidParameter(
                "store",
                "names a database with a long transaction, such as that of pg_dump, which must end before the tables "
                    + "can be changed. Start the server again then")
        }
    }

    /// Checks that this version of the server has written the tables, and that they have all rows.
    static func checkSchema(_ connection: PostgresConnection) throws {
        let supported = schema
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
