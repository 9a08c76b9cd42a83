import GRDB

extension SQLiteStore {
    /// Creates the tables of bans, reports, erasures and participants, and adds the user state.
    static func createAdminTables(_ database: Database) throws {
        try database.execute(
            sql: """
                -- state 1: deactivated; 2: being erased; 3: erased. isBanned: a ban from the server may exist.
                ALTER TABLE user ADD COLUMN state INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 3);
                ALTER TABLE user ADD COLUMN isBanned INTEGER NOT NULL DEFAULT 0 CHECK (isBanned IN (0, 1));
                CREATE INDEX user_state ON user (state, id) WHERE state <> 0;
                -- 1: a user was banned from it; 2: a user of a direct conversation was erased.
                ALTER TABLE conversation ADD COLUMN marks INTEGER NOT NULL DEFAULT 0;

                -- conversation 0: the server. until: infinity for a permanent ban.
                CREATE TABLE ban (
                    conversation INTEGER NOT NULL,
                    user TEXT NOT NULL,
                    until REAL NOT NULL,
                    by TEXT NOT NULL,
                    reason TEXT,
                    at REAL NOT NULL,
                    PRIMARY KEY (conversation, user)
                ) WITHOUT ROWID, STRICT;
                CREATE INDEX ban_until ON ban (until);

                -- AUTOINCREMENT: numbers are never reused, because people refer to reports by them.
                CREATE TABLE report (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    conversation INTEGER NOT NULL,
                    message BLOB NOT NULL,
                    seq INTEGER NOT NULL,
                    sender TEXT NOT NULL,
                    type TEXT NOT NULL,
                    content TEXT,
                    timetoken INTEGER NOT NULL,
                    reporter TEXT NOT NULL,
                    reason TEXT NOT NULL,
                    text TEXT,
                    at REAL NOT NULL,
                    isOpen INTEGER NOT NULL CHECK (isOpen IN (0, 1)),
                    note TEXT,
                    closedBy TEXT,
                    closedAt REAL
                ) STRICT;
                CREATE UNIQUE INDEX report_message ON report (message, conversation, reporter);
                CREATE INDEX report_state ON report (isOpen, number);
                CREATE INDEX report_reporter ON report (reporter, number);
                CREATE INDEX report_sender ON report (sender, number);

                CREATE TABLE erasure (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    id BLOB NOT NULL UNIQUE,
                    user TEXT NOT NULL,
                    messages INTEGER NOT NULL CHECK (messages BETWEEN 0 AND 2),
                    replacement TEXT NOT NULL,
                    stage INTEGER NOT NULL,
                    through INTEGER NOT NULL,
                    throughSeq INTEGER NOT NULL,
                    conversationCount INTEGER NOT NULL,
                    messageCount INTEGER NOT NULL,
                    fileCount INTEGER NOT NULL,
                    createdAt REAL NOT NULL,
                    endedAt REAL,
                    error TEXT
                ) STRICT;
                CREATE INDEX erasure_open ON erasure (number) WHERE endedAt IS NULL;

                -- Users with data in a conversation without a member row, mostly in rooms.
                CREATE TABLE guest (
                    user TEXT NOT NULL,
                    conversation INTEGER NOT NULL,
                    PRIMARY KEY (user, conversation)
                ) WITHOUT ROWID, STRICT;
                INSERT INTO guest (user, conversation)
                SELECT user, conversation FROM (
                    SELECT sender AS user, conversation FROM message
                    UNION SELECT sender, conversation FROM action
                    UNION SELECT sender, conversation FROM retired
                    UNION SELECT user, conversation FROM mute
                ) AS trace
                WHERE NOT EXISTS (
                    SELECT 1 FROM member WHERE member.conversation = trace.conversation AND member.user = trace.user);

                CREATE INDEX media_owner ON media (owner, id);
                """)
    }
}
