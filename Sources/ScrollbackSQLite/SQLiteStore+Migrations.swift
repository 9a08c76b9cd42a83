import GRDB
import ScrollbackModel
import StoreFiles

extension SQLiteStore {
    /// The newest schema this version knows.
    static let schemaVersion = 9

    /// Brings a file up to date, one numbered migration after the other, each in a transaction of its own.
    ///
    /// - Throws: `internal-error` naming both versions when a newer version of the server has written the file.
    static func migrate(_ pool: DatabasePool, at path: String) throws {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1", migrate: createTables)
        migrator.registerMigration("2", migrate: createMediaTables)
        migrator.registerMigration("3", migrate: createManners)
        migrator.registerMigration("4", migrate: markManners)
        migrator.registerMigration("5", migrate: extendRecents)
        migrator.registerMigration("6", migrate: createPeople)
        migrator.registerMigration("7", migrate: createOperator)
        migrator.registerMigration("8", migrate: createPush)
        migrator.registerMigration("9", migrate: SealingSchema.create)
        let found = try pool.read { try migrator.appliedIdentifiers($0).compactMap { Int($0) }.max() ?? 0 }
        guard found <= schemaVersion else {
            throw ChatError(
                .internalError,
                "\(path) has schema \(found), and this version of the server knows schemas up to \(schemaVersion): "
                    + "start the newer version that wrote it, or restore a backup")
        }
        try migrator.migrate(pool)
    }

    /// What the writer keeps in memory from here on.
    static func start(_ database: Database) throws -> (generation: UInt64, moved: Int64, newest: Timetoken) {
        func meta(_ name: String) throws -> Int64? {
            try Int64.fetchOne(database, sql: "SELECT value FROM meta WHERE name = ?", arguments: [name])
        }
        guard let generation = try meta("generation") else {
            throw ChatError(.internalError, "the store has no generation")
        }
        // Times are 64 bits without a sign, kept in columns that have one: those above the middle are the highest.
        let row = try Row.fetchOne(
            database,
            sql: """
                SELECT max(moved), ifnull(max(timetoken) FILTER (WHERE timetoken < 0), max(timetoken))
                FROM conversation
                """)
        return (
            UInt64(bitPattern: generation), max(try meta("moved") ?? 0, row?[0] ?? 0),
            Timetoken(rawValue: UInt64(bitPattern: row?[1] ?? 0))
        )
    }

    /// Every key leads with what its questions name first, so each is one seek.
    ///
    /// Names are compared by bytes (`BINARY`). Where a name may be absent inside a key, '' stands for that: no name is
    /// empty, and NULLs would not be unique.
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

                -- The content last: a filter reads what stands before it without touching long contents.
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
                -- The id first: ids begin with their time, so those of a commit to many conversations lie together.
                CREATE UNIQUE INDEX message_id ON message (id, conversation);
                -- What few messages are, for filters: a plain text outside of threads writes none of these.
                CREATE INDEX message_type ON message (conversation, seq, type) WHERE type <> 'text';
                CREATE INDEX message_customType ON message (conversation, seq, customType) WHERE customType IS NOT NULL;
                CREATE INDEX message_mentions ON message (conversation, seq) WHERE mentions IS NOT NULL;
                CREATE INDEX message_thread ON message (conversation, thread, seq) WHERE thread IS NOT NULL;

                -- What is remembered of messages whose rows are gone, so that a retry is still answered.
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

                -- What was done to messages after they were sent: which places each change touched.
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

                -- Sets of numbers, a bit each. kind 0: running numbers that nobody counts; 1: places deleted one by one;
                -- 2: running numbers that one user does not count.
                CREATE TABLE bits (
                    conversation INTEGER NOT NULL,
                    kind INTEGER NOT NULL,
                    user TEXT NOT NULL,
                    block INTEGER NOT NULL,
                    words BLOB NOT NULL CHECK (length(words) = 128),
                    PRIMARY KEY (conversation, kind, user, block)
                ) WITHOUT ROWID, STRICT;

                -- Places that are gone. user '': for everyone.
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
