import GRDB
import ScrollbackModel
import SQLiteSupport

extension SQLiteStore {
    /// The newest schema that this version supports.
    static let schemaVersion = 24

    /// Migrates a file to the newest schema, with one transaction per numbered migration.
    ///
    /// - Throws: `internal-error` with both versions if a newer version of the server wrote the file.
    static func migrate(_ pool: DatabasePool, at path: String) throws {
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
            // The sequence number through which a user's devices have stored the messages.
            try database.execute(sql: "ALTER TABLE receipt ADD COLUMN deliveredSeq INTEGER NOT NULL DEFAULT 0")
        }
        migrator.registerMigration("22", migrate: createIncomingWebhookTable)
        migrator.registerMigration("23", migrate: createCancelledTable)
        migrator.registerMigration("24", migrate: renameTablesAndColumns)
        let found = try pool.read { try migrator.appliedIdentifiers($0).compactMap { Int($0) }.max() ?? 0 }
        guard found <= schemaVersion else {
            throw ChatError(
                .internalError,
                "\(path) has schema \(found), but this version of the server supports only \(schemaVersion). "
                    + "Start the newer version that wrote it, or restore a backup.")
        }
        try migrator.migrate(pool)
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

    /// Creates the tables; each primary key starts with the columns that queries specify, so that every query is a
    /// seek.
    ///
    /// Names are compared by bytes (`BINARY`). In keys, an empty string stands for an absent name. Names are never
    /// empty, and NULL values would not be unique.
    private static func createTables(_ database: Database) throws {
        var generator = SystemRandomNumberGenerator()
        try database.execute(
            sql: """
                CREATE TABLE meta (
                    name TEXT NOT NULL PRIMARY KEY,
                    value INTEGER NOT NULL
                ) WITHOUT ROWID, STRICT;

                CREATE TABLE user (
                    id TEXT NOT NULL PRIMARY KEY,
                    rev INTEGER NOT NULL,
                    revokedAt REAL,
                    name TEXT,
                    avatar TEXT,
                    metadata TEXT
                ) WITHOUT ROWID, STRICT;

                CREATE TABLE conversation (
                    number INTEGER PRIMARY KEY,
                    head INTEGER NOT NULL,
                    n INTEGER NOT NULL,
                    timetoken INTEGER NOT NULL,
                    moved INTEGER NOT NULL,
                    rev INTEGER NOT NULL,
                    firstSeq INTEGER NOT NULL,
                    floorN INTEGER NOT NULL,
                    floorTime INTEGER NOT NULL,
                    sweptSeq INTEGER NOT NULL,
                    changeFloor INTEGER NOT NULL,
                    retention INTEGER,
                    hasVoids INTEGER NOT NULL CHECK (hasVoids IN (0, 1)),
                    view INTEGER NOT NULL,
                    salt INTEGER NOT NULL,
                    createdAt REAL NOT NULL,
                    isPrivate INTEGER NOT NULL CHECK (isPrivate IN (0, 1)),
                    isDeleted INTEGER NOT NULL CHECK (isDeleted IN (0, 1)),
                    visibility TEXT NOT NULL,
                    kind TEXT NOT NULL,
                    target TEXT NOT NULL,
                    part TEXT NOT NULL,
                    name TEXT,
                    avatar TEXT,
                    metadata TEXT,
                    UNIQUE (kind, target, part)
                ) STRICT;

                -- The content is the last column, so that filters read the others without touching long contents.
                CREATE TABLE message (
                    conversation INTEGER NOT NULL,
                    seq INTEGER NOT NULL,
                    n INTEGER NOT NULL,
                    timetoken INTEGER NOT NULL,
                    id BLOB NOT NULL,
                    sender TEXT NOT NULL,
                    type TEXT NOT NULL,
                    flags INTEGER NOT NULL,
                    digest INTEGER NOT NULL,
                    rev INTEGER NOT NULL,
                    editedAt REAL,
                    customType TEXT,
                    mentions TEXT,
                    replyTo BLOB,
                    thread BLOB,
                    replyCount INTEGER,
                    lastReply INTEGER,
                    actions TEXT,
                    metadata TEXT,
                    extra TEXT,
                    push TEXT,
                    content TEXT,
                    PRIMARY KEY (conversation, seq)
                ) WITHOUT ROWID, STRICT;
                -- IDs start with their time. With the ID first, entries of one commit to many conversations are
                -- adjacent.
                CREATE UNIQUE INDEX message_id ON message (id, conversation);
                -- Partial indexes for filters; plain text outside of threads adds no entries.
                CREATE INDEX message_type ON message (conversation, seq, type) WHERE type <> 'text';
                CREATE INDEX message_customType ON message (conversation, seq, customType) WHERE customType IS NOT NULL;
                CREATE INDEX message_mentions ON message (conversation, seq) WHERE mentions IS NOT NULL;
                CREATE INDEX message_thread ON message (conversation, thread, seq) WHERE thread IS NOT NULL;

                -- The IDs of removed messages, so that a retry still gets its result.
                CREATE TABLE retired (
                    id BLOB NOT NULL,
                    conversation INTEGER NOT NULL,
                    sender TEXT NOT NULL,
                    digest INTEGER NOT NULL,
                    seq INTEGER NOT NULL,
                    n INTEGER NOT NULL,
                    timetoken INTEGER NOT NULL,
                    PRIMARY KEY (conversation, id)
                ) WITHOUT ROWID, STRICT;
                CREATE INDEX retired_timetoken ON retired (timetoken);

                -- The change log: the sequence numbers that each change affected.
                CREATE TABLE change (
                    conversation INTEGER NOT NULL,
                    rev INTEGER NOT NULL,
                    kind INTEGER NOT NULL,
                    lower INTEGER NOT NULL,
                    upper INTEGER NOT NULL,
                    at INTEGER NOT NULL,
                    operation BLOB,
                    digest INTEGER NOT NULL,
                    answer INTEGER NOT NULL,
                    PRIMARY KEY (conversation, rev)
                ) WITHOUT ROWID, STRICT;
                CREATE UNIQUE INDEX change_operation ON change (operation, conversation) WHERE operation IS NOT NULL;

                CREATE TABLE action (
                    conversation INTEGER NOT NULL,
                    seq INTEGER NOT NULL,
                    timetoken INTEGER NOT NULL,
                    sender TEXT NOT NULL,
                    type TEXT NOT NULL,
                    value TEXT NOT NULL,
                    PRIMARY KEY (conversation, seq, timetoken)
                ) WITHOUT ROWID, STRICT;
                CREATE UNIQUE INDEX action_value ON action (conversation, seq, sender, type, value);
                CREATE UNIQUE INDEX action_timetoken ON action (conversation, timetoken);

                CREATE TABLE member (
                    conversation INTEGER NOT NULL,
                    user TEXT NOT NULL,
                    standing INTEGER NOT NULL CHECK (standing IN (0, 1, 2)),
                    role TEXT NOT NULL,
                    joinSeq INTEGER NOT NULL,
                    joinN INTEGER NOT NULL,
                    readSeq INTEGER NOT NULL,
                    readN INTEGER NOT NULL,
                    clearSeq INTEGER NOT NULL,
                    clearN INTEGER NOT NULL,
                    isMuted INTEGER NOT NULL CHECK (isMuted IN (0, 1)),
                    isPinned INTEGER NOT NULL CHECK (isPinned IN (0, 1)),
                    isMarkedUnread INTEGER NOT NULL CHECK (isMarkedUnread IN (0, 1)),
                    view INTEGER NOT NULL,
                    userRev INTEGER NOT NULL,
                    hasVoids INTEGER NOT NULL CHECK (hasVoids IN (0, 1)),
                    PRIMARY KEY (conversation, user)
                ) WITHOUT ROWID, STRICT;
                CREATE INDEX member_user ON member (user, conversation);

                CREATE TABLE span (
                    conversation INTEGER NOT NULL,
                    user TEXT NOT NULL,
                    joined INTEGER NOT NULL,
                    "left" INTEGER,
                    PRIMARY KEY (conversation, user, joined)
                ) WITHOUT ROWID, STRICT;

                -- Sets of numbers as bits. kind 0: counted indexes that no user counts; 1: sequence numbers of messages
                -- deleted one by one; 2: counted indexes that one user does not count; 3, since schema 14: counted
                -- indexes of the replies in a thread, whose ID is in the column user.
                CREATE TABLE bits (
                    conversation INTEGER NOT NULL,
                    kind INTEGER NOT NULL,
                    user TEXT NOT NULL,
                    block INTEGER NOT NULL,
                    words BLOB NOT NULL CHECK (length(words) = 128),
                    PRIMARY KEY (conversation, kind, user, block)
                ) WITHOUT ROWID, STRICT;

                -- Deleted ranges. user '': for everyone.
                CREATE TABLE void (
                    conversation INTEGER NOT NULL,
                    user TEXT NOT NULL,
                    lower INTEGER NOT NULL,
                    upper INTEGER NOT NULL CHECK (lower <= upper),
                    userRev INTEGER NOT NULL,
                    holdsMessages INTEGER NOT NULL CHECK (holdsMessages IN (0, 1)),
                    PRIMARY KEY (conversation, user, lower)
                ) WITHOUT ROWID, STRICT;

                CREATE TABLE setting (
                    name TEXT NOT NULL PRIMARY KEY,
                    value TEXT NOT NULL
                ) WITHOUT ROWID, STRICT;

                -- user '': everyone.
                CREATE TABLE mention (
                    conversation INTEGER NOT NULL,
                    user TEXT NOT NULL,
                    seq INTEGER NOT NULL,
                    sender TEXT NOT NULL,
                    PRIMARY KEY (conversation, user, seq)
                ) WITHOUT ROWID, STRICT;
                """)
        try database.execute(
            sql: "INSERT INTO meta (name, value) VALUES ('generation', ?), ('moved', 0)",
            arguments: [Int64(bitPattern: generator.next())])
    }
}
