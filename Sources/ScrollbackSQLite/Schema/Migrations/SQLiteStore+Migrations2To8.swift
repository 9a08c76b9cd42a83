import GRDB

extension SQLiteStore {
    /// Creates the tables of files, of references from messages to files, and of uploads.
    static func createMediaTables(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE media (
                    id BLOB NOT NULL PRIMARY KEY,
                    owner TEXT NOT NULL,
                    conversation TEXT NOT NULL,
                    type TEXT NOT NULL,
                    name TEXT,
                    mediaType TEXT NOT NULL,
                    size INTEGER NOT NULL,
                    blob BLOB NOT NULL CHECK (length(blob) = 32),
                    width INTEGER,
                    height INTEGER,
                    thumbnail BLOB CHECK (length(thumbnail) = 32),
                    thumbnailSize INTEGER,
                    thumbnailType TEXT,
                    thumbnailWidth INTEGER,
                    thumbnailHeight INTEGER,
                    createdAt REAL NOT NULL,
                    unusedSince REAL
                ) WITHOUT ROWID, STRICT;
                CREATE INDEX media_blob ON media (blob);
                CREATE INDEX media_thumbnail ON media (thumbnail) WHERE thumbnail IS NOT NULL;
                CREATE INDEX media_createdAt ON media (createdAt);
                CREATE INDEX media_unusedSince ON media (unusedSince) WHERE unusedSince IS NOT NULL;

                CREATE TABLE mediaUse (
                    media BLOB NOT NULL,
                    conversation INTEGER NOT NULL,
                    seq INTEGER NOT NULL,
                    PRIMARY KEY (media, conversation, seq)
                ) WITHOUT ROWID, STRICT;
                CREATE UNIQUE INDEX mediaUse_place ON mediaUse (conversation, seq, media);

                CREATE TABLE upload (
                    id TEXT NOT NULL PRIMARY KEY,
                    media BLOB NOT NULL,
                    owner TEXT NOT NULL,
                    conversation TEXT NOT NULL,
                    type TEXT NOT NULL,
                    name TEXT,
                    length INTEGER,
                    expected BLOB,
                    offset INTEGER NOT NULL,
                    state INTEGER NOT NULL CHECK (state IN (0, 1)),
                    touchedAt REAL NOT NULL
                ) WITHOUT ROWID, STRICT;
                CREATE INDEX upload_owner ON upload (owner) WHERE state = 0;
                CREATE INDEX upload_touchedAt ON upload (touchedAt);
                """)
    }

    /// Creates the tables of blocks, mutes and webhook deliveries, and adds two conversation settings.
    static func createModerationTables(_ database: Database) throws {
        try database.execute(
            sql: """
                ALTER TABLE conversation ADD COLUMN isFrozen INTEGER NOT NULL DEFAULT 0 CHECK (isFrozen IN (0, 1));
                ALTER TABLE conversation ADD COLUMN capacity INTEGER;

                CREATE TABLE block (
                    user TEXT NOT NULL,
                    blocked TEXT NOT NULL,
                    PRIMARY KEY (user, blocked)
                ) WITHOUT ROWID, STRICT;
                CREATE INDEX block_blocked ON block (blocked, user);

                CREATE TABLE mute (
                    conversation INTEGER NOT NULL,
                    user TEXT NOT NULL,
                    until REAL NOT NULL,
                    PRIMARY KEY (conversation, user)
                ) WITHOUT ROWID, STRICT;

                CREATE TABLE delivery (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    conversation INTEGER NOT NULL,
                    body TEXT NOT NULL
                ) STRICT;
                CREATE INDEX delivery_conversation ON delivery (conversation, number);
                """)
    }

    /// Adds flags for mutes and blocks to conversations, so that sending looks them up only where needed.
    static func addModerationFlags(_ database: Database) throws {
        try database.execute(
            sql: """
                ALTER TABLE conversation ADD COLUMN hasMutes INTEGER NOT NULL DEFAULT 0 CHECK (hasMutes IN (0, 1));
                ALTER TABLE conversation ADD COLUMN blocks INTEGER NOT NULL DEFAULT 0 CHECK (blocks BETWEEN 0 AND 3);

                UPDATE conversation SET hasMutes = 1 WHERE number IN (SELECT conversation FROM mute);
                UPDATE conversation SET blocks =
                    EXISTS (SELECT 1 FROM block WHERE user = target AND blocked = part)
                    + 2 * EXISTS (SELECT 1 FROM block WHERE user = part AND blocked = target)
                WHERE kind = 'direct';
                """)
    }

    /// Adds removal from recents, unread markers and the sort key of recents.
    static func addRecentsColumns(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE membership (
                    user TEXT NOT NULL,
                    conversation INTEGER NOT NULL,
                    standing INTEGER NOT NULL CHECK (standing IN (0, 1, 2)),
                    role TEXT NOT NULL,
                    joinSeq INTEGER NOT NULL,
                    joinN INTEGER NOT NULL,
                    readSeq INTEGER NOT NULL,
                    readN INTEGER NOT NULL,
                    clearSeq INTEGER NOT NULL,
                    clearN INTEGER NOT NULL,
                    removedSeq INTEGER NOT NULL DEFAULT 0,
                    roamSeq INTEGER NOT NULL DEFAULT 0,
                    isMuted INTEGER NOT NULL CHECK (isMuted IN (0, 1)),
                    isPinned INTEGER NOT NULL CHECK (isPinned IN (0, 1)),
                    isMarkedUnread INTEGER NOT NULL CHECK (isMarkedUnread IN (0, 1)),
                    markedRev INTEGER NOT NULL DEFAULT 0,
                    view INTEGER NOT NULL,
                    userRev INTEGER NOT NULL,
                    hasVoids INTEGER NOT NULL CHECK (hasVoids IN (0, 1)),
                    PRIMARY KEY (user, conversation)
                ) WITHOUT ROWID, STRICT;
                INSERT INTO membership (user, conversation, standing, role, joinSeq, joinN, readSeq, readN, clearSeq,
                    clearN, isMuted, isPinned, isMarkedUnread, view, userRev, hasVoids)
                SELECT user, conversation, standing, role, joinSeq, joinN, readSeq, readN, clearSeq,
                    clearN, isMuted, isPinned, isMarkedUnread, view, userRev, hasVoids
                FROM member ORDER BY user, conversation;
                DROP TABLE member;
                ALTER TABLE membership RENAME TO member;
                CREATE INDEX member_conversation ON member (conversation, user);

                ALTER TABLE conversation ADD COLUMN recentSeq INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE conversation ADD COLUMN recentTime INTEGER NOT NULL DEFAULT 0;
                -- Long runs of messages that don't update recents (8) are rare.
                UPDATE conversation SET (recentSeq, recentTime) = (
                    SELECT seq, timetoken FROM message WHERE conversation = number AND flags & 8 = 0
                    ORDER BY seq DESC LIMIT 1)
                WHERE EXISTS (SELECT 1 FROM message WHERE conversation = number AND flags & 8 = 0);
                """)
    }

    /// Creates the tables of read receipts, invitations and presence.
    static func createPeopleTables(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE receipt (
                    conversation INTEGER NOT NULL,
                    user TEXT NOT NULL,
                    seq INTEGER NOT NULL,
                    PRIMARY KEY (conversation, user)
                ) WITHOUT ROWID, STRICT;

                CREATE TABLE invitation (
                    conversation INTEGER NOT NULL,
                    user TEXT NOT NULL,
                    inviter TEXT NOT NULL,
                    at REAL NOT NULL,
                    until REAL,
                    PRIMARY KEY (conversation, user)
                ) WITHOUT ROWID, STRICT;
                CREATE INDEX invitation_user ON invitation (user, conversation);
                CREATE INDEX invitation_inviter ON invitation (inviter);
                CREATE INDEX invitation_until ON invitation (until) WHERE until IS NOT NULL;

                CREATE TABLE presence (
                    user TEXT NOT NULL PRIMARY KEY,
                    lastSeen REAL NOT NULL
                ) WITHOUT ROWID, STRICT;
                """)
    }

    /// Creates the tables of bans, reports, erasures and participants, and adds the user state.
    static func createAdminTables(_ database: Database) throws {
        try database.execute(
            sql: """
                ALTER TABLE user ADD COLUMN state INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 3);
                ALTER TABLE user ADD COLUMN isBanned INTEGER NOT NULL DEFAULT 0 CHECK (isBanned IN (0, 1));
                CREATE INDEX user_state ON user (state, id) WHERE state <> 0;
                ALTER TABLE conversation ADD COLUMN marks INTEGER NOT NULL DEFAULT 0;

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

    /// Creates the tables of push preferences, devices, queued pushes and retries.
    static func createPushTables(_ database: Database) throws {
        try database.execute(
            sql: """
                ALTER TABLE member ADD COLUMN level TEXT;

                CREATE TABLE pushPerson (
                    user TEXT NOT NULL PRIMARY KEY,
                    language TEXT,
                    showsDetail INTEGER NOT NULL CHECK (showsDetail IN (0, 1)),
                    level TEXT,
                    quietFrom TEXT,
                    quietTo TEXT,
                    quietZone TEXT,
                    quietAllowsMentions INTEGER NOT NULL CHECK (quietAllowsMentions IN (0, 1)),
                    deviceCount INTEGER NOT NULL
                ) WITHOUT ROWID, STRICT;

                CREATE TABLE pushDevice (
                    user TEXT NOT NULL,
                    device TEXT NOT NULL,
                    service TEXT NOT NULL,
                    token TEXT NOT NULL,
                    topic TEXT,
                    language TEXT,
                    isDevelopment INTEGER NOT NULL CHECK (isDevelopment IN (0, 1)),
                    p256dh TEXT,
                    auth TEXT,
                    registeredAt REAL NOT NULL,
                    PRIMARY KEY (user, device)
                ) WITHOUT ROWID, STRICT;
                CREATE UNIQUE INDEX pushDevice_token ON pushDevice (service, token);

                CREATE TABLE pushReach (
                    conversation INTEGER NOT NULL,
                    level INTEGER NOT NULL CHECK (level IN (1, 2)),
                    user TEXT NOT NULL,
                    PRIMARY KEY (conversation, level, user)
                ) WITHOUT ROWID, STRICT;
                CREATE INDEX pushReach_user ON pushReach (user, conversation);

                CREATE TABLE push (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    conversation INTEGER NOT NULL,
                    kind INTEGER NOT NULL,
                    seq INTEGER NOT NULL,
                    body TEXT
                ) STRICT;
                CREATE INDEX push_conversation ON push (conversation, number);

                CREATE TABLE pushWalk (
                    conversation INTEGER NOT NULL PRIMARY KEY,
                    through INTEGER NOT NULL,
                    after TEXT
                ) WITHOUT ROWID, STRICT;

                CREATE TABLE pushRetry (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    user TEXT NOT NULL,
                    device TEXT NOT NULL,
                    push INTEGER NOT NULL,
                    conversation INTEGER NOT NULL,
                    kind INTEGER NOT NULL,
                    seq INTEGER NOT NULL,
                    body TEXT,
                    attempts INTEGER NOT NULL,
                    notBefore REAL NOT NULL,
                    firstTriedAt REAL NOT NULL
                ) STRICT;
                CREATE INDEX pushRetry_time ON pushRetry (notBefore, number);
                CREATE INDEX pushRetry_user ON pushRetry (user);
                CREATE INDEX pushRetry_conversation ON pushRetry (conversation);
                """)
    }
}
