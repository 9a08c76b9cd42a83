import GRDB
import StoreFiles

extension LocalStore {
    /// The schema's history.
    ///
    /// A step that was released is never changed.
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { db in
            try db.execute(
                sql: """
                    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

                    -- One row a conversation: its log's state, its read state, and what the list of recents shows.
                    CREATE TABLE conversation (
                        number INTEGER PRIMARY KEY,
                        id TEXT NOT NULL UNIQUE,
                        kind TEXT NOT NULL,
                        name TEXT, avatar TEXT,
                        -- The log; NULL until its head is known.
                        epoch INTEGER, view INTEGER NOT NULL DEFAULT 0,
                        firstSeq INTEGER NOT NULL DEFAULT 1, head INTEGER NOT NULL DEFAULT 0,
                        n INTEGER NOT NULL DEFAULT 0, rev INTEGER NOT NULL DEFAULT 0,
                        latestRev INTEGER NOT NULL DEFAULT 0, replayed INTEGER NOT NULL DEFAULT 0,
                        baselineSeq INTEGER NOT NULL DEFAULT 0, baselineRev INTEGER NOT NULL DEFAULT 0,
                        -- Read state, and what it was computed at.
                        readSeq INTEGER NOT NULL DEFAULT 0, unread INTEGER NOT NULL DEFAULT 0,
                        mentions INTEGER NOT NULL DEFAULT 0,
                        readAtSeq INTEGER NOT NULL DEFAULT 0, readAtN INTEGER NOT NULL DEFAULT 0,
                        readAtRev INTEGER NOT NULL DEFAULT 0, readAtUserRev INTEGER NOT NULL DEFAULT 0,
                        readExactSeq INTEGER NOT NULL DEFAULT 0,
                        pendingReadSeq INTEGER, pendingReadN INTEGER,
                        -- The list of recents.
                        isMember INTEGER NOT NULL DEFAULT 1, isMuted INTEGER NOT NULL DEFAULT 0,
                        isPinned INTEGER NOT NULL DEFAULT 0, isMarkedUnread INTEGER NOT NULL DEFAULT 0,
                        lastSeq INTEGER NOT NULL DEFAULT 0, sortTime INTEGER NOT NULL DEFAULT 0,
                        isRecent INTEGER NOT NULL DEFAULT 0
                    );
                    CREATE INDEX recents ON conversation (isPinned DESC, sortTime DESC, number DESC) WHERE isRecent;

                    CREATE TABLE message (
                        conversation INTEGER NOT NULL, seq INTEGER NOT NULL, n INTEGER NOT NULL,
                        timetoken INTEGER NOT NULL, id BLOB NOT NULL, sender TEXT NOT NULL, type TEXT NOT NULL,
                        content TEXT, rev INTEGER NOT NULL, flags INTEGER NOT NULL,
                        mentions TEXT, metadata TEXT, extra TEXT, customType TEXT, push TEXT, replyTo BLOB,
                        editedAt REAL, thread BLOB, replyCount INTEGER, lastReply INTEGER, actions TEXT,
                        PRIMARY KEY (conversation, seq)
                    ) WITHOUT ROWID;
                    CREATE UNIQUE INDEX messageID ON message (conversation, id);

                    CREATE INDEX messageThread ON message (conversation, thread, seq) WHERE thread IS NOT NULL;

                    -- What is not known of a log, and what will never be. Disjoint, and keyed so that the range that
                    -- holds a place is one seek.
                    CREATE TABLE gap (
                        conversation INTEGER NOT NULL, upper INTEGER NOT NULL, lower INTEGER NOT NULL,
                        PRIMARY KEY (conversation, upper), CHECK (lower <= upper)
                    ) WITHOUT ROWID;
                    CREATE TABLE void (
                        conversation INTEGER NOT NULL, upper INTEGER NOT NULL, lower INTEGER NOT NULL,
                        PRIMARY KEY (conversation, upper), CHECK (lower <= upper)
                    ) WITHOUT ROWID;

                    CREATE TABLE outbox (
                        id BLOB PRIMARY KEY, conversation TEXT NOT NULL, ordinal INTEGER NOT NULL,
                        createdAt REAL NOT NULL, state TEXT NOT NULL, until REAL, error TEXT,
                        attempts INTEGER NOT NULL, isFrozen INTEGER NOT NULL,
                        -- A message to send, or another request as it goes over the wire, about a message.
                        kind TEXT NOT NULL CHECK (kind IN ('send', 'change')), body TEXT NOT NULL, about BLOB
                    ) WITHOUT ROWID;
                    CREATE INDEX outboxLane ON outbox (conversation, ordinal);

                    -- Whose profile is '' has none.
                    CREATE TABLE person (
                        user TEXT PRIMARY KEY, profile TEXT NOT NULL, fetchedAt REAL NOT NULL
                    ) WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("2") { db in
            // Places whose rows changed since they were indexed. Each run stays as it was noted, under a number that is never
            // given again: one that is being indexed does not grow, and what comes meanwhile comes after it.
            try db.execute(
                sql: """
                    CREATE TABLE unindexed (
                        id INTEGER PRIMARY KEY AUTOINCREMENT, conversation INTEGER NOT NULL,
                        lower INTEGER NOT NULL, upper INTEGER NOT NULL, CHECK (lower <= upper)
                    );
                    """)
        }
        migrator.registerMigration("3") { db in
            try db.execute(
                sql: """
                    -- Whether a message has files that the server has yet to take.
                    ALTER TABLE outbox ADD COLUMN needsUpload INTEGER NOT NULL DEFAULT 0;

                    -- The files of messages in the outbox; they go with their message.
                    CREATE TABLE upload (
                        media TEXT PRIMARY KEY, message BLOB NOT NULL, ordinal INTEGER NOT NULL,
                        type TEXT NOT NULL, name TEXT, mediaType TEXT NOT NULL,
                        hash TEXT NOT NULL, size INTEGER NOT NULL, thumbnail TEXT,
                        resource TEXT, url TEXT, isDone INTEGER NOT NULL
                    ) WITHOUT ROWID;
                    CREATE INDEX uploadMessage ON upload (message, ordinal);

                    -- The files that lie on this device, under the hash of their content, by what they are copies of.
                    CREATE TABLE file (
                        key TEXT PRIMARY KEY, hash TEXT NOT NULL, size INTEGER NOT NULL, usedAt REAL NOT NULL
                    ) WITHOUT ROWID;
                    CREATE INDEX fileHash ON file (hash);

                    -- What was typed and not sent, one a conversation.
                    CREATE TABLE draft (
                        conversation TEXT PRIMARY KEY, body TEXT NOT NULL, updatedAt REAL NOT NULL
                    ) WITHOUT ROWID;

                    -- What the app keeps with a message on this device alone.
                    CREATE TABLE extension (
                        conversation TEXT NOT NULL, message BLOB NOT NULL, body TEXT NOT NULL,
                        PRIMARY KEY (conversation, message)
                    ) WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("4") { db in
            try db.execute(
                sql: """
                    -- What altered the counts last, and whether they are what the server would say now (0), or near (1).
                    ALTER TABLE conversation ADD COLUMN touchedRev INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE conversation ADD COLUMN certainty INTEGER NOT NULL DEFAULT 1;
                    -- The user's own change counter when what they set there was last heard of, and the commit when its
                    -- name was.
                    ALTER TABLE conversation ADD COLUMN ownRev INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE conversation ADD COLUMN memberRev INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE conversation ADD COLUMN moved INTEGER NOT NULL DEFAULT 0;
                    -- Where it ended when it was taken out of the list, and when it was put in by hand.
                    ALTER TABLE conversation ADD COLUMN removedSeq INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE conversation ADD COLUMN addedTime INTEGER;
                    -- Up to where this device, should it be a new one, loads nothing by itself.
                    ALTER TABLE conversation ADD COLUMN roamSeq INTEGER NOT NULL DEFAULT 0;
                    -- Whether it was put in by hand without its last message, until the next one.
                    ALTER TABLE conversation ADD COLUMN hidesLast INTEGER NOT NULL DEFAULT 0;
                    -- When it was last active, as the server says, where its last message is not here.
                    ALTER TABLE conversation ADD COLUMN recentTime INTEGER;
                    -- How often the last message has been changed: the list shows it.
                    ALTER TABLE conversation ADD COLUMN lastRev INTEGER NOT NULL DEFAULT 0;
                    -- What the app keeps with the entry on this device alone.
                    ALTER TABLE conversation ADD COLUMN extension TEXT;
                    -- The newest place this device had before it heard that more was said without it.
                    ALTER TABLE conversation ADD COLUMN missedAfter INTEGER;
                    CREATE INDEX unreadCounts ON conversation (kind, isMuted, unread, mentions)
                        WHERE isRecent AND isMember AND (unread > 0 OR mentions > 0);
                    CREATE INDEX pendingReads ON conversation (number) WHERE pendingReadSeq IS NOT NULL;

                    -- What the user set here and the server has not confirmed, one of a sort and conversation.
                    CREATE TABLE pendingState (
                        conversation TEXT NOT NULL, sort TEXT NOT NULL, body TEXT NOT NULL,
                        PRIMARY KEY (conversation, sort)
                    ) WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("5") { db in
            // What the other person of a direct conversation has read; whether one may write. An infinite time: for good.
            try db.execute(
                sql: """
                    ALTER TABLE conversation ADD COLUMN peerReadSeq INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE conversation ADD COLUMN isFrozen INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE conversation ADD COLUMN mutedUntil REAL;
                    """)
        }
        migrator.registerMigration("6") { db in
            // The newest own change that was known when the read that is to be told was made; absent where it ends every mark.
            try db.execute(sql: "ALTER TABLE conversation ADD COLUMN pendingReadRev INTEGER")
        }
        migrator.registerMigration("7") { db in
            // Which messages the user wants pushed, where they set something there.
            try db.execute(sql: "ALTER TABLE conversation ADD COLUMN notifications TEXT")
        }
        migrator.registerMigration("8", migrate: SealingSchema.create)
        return migrator
    }
}
