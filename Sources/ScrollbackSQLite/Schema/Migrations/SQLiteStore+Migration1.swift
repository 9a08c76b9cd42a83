import GRDB

extension SQLiteStore {
    /// Creates the first tables.
    static func createTables(_ database: Database) throws {
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
                CREATE UNIQUE INDEX message_id ON message (id, conversation);
                CREATE INDEX message_type ON message (conversation, seq, type) WHERE type <> 'text';
                CREATE INDEX message_customType ON message (conversation, seq, customType) WHERE customType IS NOT NULL;
                CREATE INDEX message_mentions ON message (conversation, seq) WHERE mentions IS NOT NULL;
                CREATE INDEX message_thread ON message (conversation, thread, seq) WHERE thread IS NOT NULL;

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

                CREATE TABLE bits (
                    conversation INTEGER NOT NULL,
                    kind INTEGER NOT NULL,
                    user TEXT NOT NULL,
                    block INTEGER NOT NULL,
                    words BLOB NOT NULL CHECK (length(words) = 128),
                    PRIMARY KEY (conversation, kind, user, block)
                ) WITHOUT ROWID, STRICT;

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

                CREATE TABLE mention (
                    conversation INTEGER NOT NULL,
                    user TEXT NOT NULL,
                    seq INTEGER NOT NULL,
                    sender TEXT NOT NULL,
                    PRIMARY KEY (conversation, user, seq)
                ) WITHOUT ROWID, STRICT;
                """)
        try insertState(database, lastCommit: "moved")
    }
}
