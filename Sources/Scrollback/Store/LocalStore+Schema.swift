package import GRDB
import SQLiteSupport

extension LocalStore {
    /// The migrations of the schema.
    ///
    /// A released migration must never be changed. A new migration also changes the tables of
    /// ``createNewestTables(_:)``.
    package static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { db in
            try db.execute(
                sql: """
                    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

                    CREATE TABLE conversation (
                        number INTEGER PRIMARY KEY,
                        id TEXT NOT NULL UNIQUE,
                        kind TEXT NOT NULL,
                        name TEXT, avatar TEXT,
                        epoch INTEGER, view INTEGER NOT NULL DEFAULT 0,
                        firstSeq INTEGER NOT NULL DEFAULT 1, head INTEGER NOT NULL DEFAULT 0,
                        n INTEGER NOT NULL DEFAULT 0, rev INTEGER NOT NULL DEFAULT 0,
                        latestRev INTEGER NOT NULL DEFAULT 0, replayed INTEGER NOT NULL DEFAULT 0,
                        baselineSeq INTEGER NOT NULL DEFAULT 0, baselineRev INTEGER NOT NULL DEFAULT 0,
                        readSeq INTEGER NOT NULL DEFAULT 0, unread INTEGER NOT NULL DEFAULT 0,
                        mentions INTEGER NOT NULL DEFAULT 0,
                        readAtSeq INTEGER NOT NULL DEFAULT 0, readAtN INTEGER NOT NULL DEFAULT 0,
                        readAtRev INTEGER NOT NULL DEFAULT 0, readAtUserRev INTEGER NOT NULL DEFAULT 0,
                        readExactSeq INTEGER NOT NULL DEFAULT 0,
                        pendingReadSeq INTEGER, pendingReadN INTEGER,
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
                        kind TEXT NOT NULL CHECK (kind IN ('send', 'change')), body TEXT NOT NULL, about BLOB
                    ) WITHOUT ROWID;
                    CREATE INDEX outboxLane ON outbox (conversation, ordinal);

                    CREATE TABLE person (
                        user TEXT PRIMARY KEY, profile TEXT NOT NULL, fetchedAt REAL NOT NULL
                    ) WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("2") { db in
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
                    ALTER TABLE outbox ADD COLUMN needsUpload INTEGER NOT NULL DEFAULT 0;

                    CREATE TABLE upload (
                        media TEXT PRIMARY KEY, message BLOB NOT NULL, ordinal INTEGER NOT NULL,
                        type TEXT NOT NULL, name TEXT, mediaType TEXT NOT NULL,
                        hash TEXT NOT NULL, size INTEGER NOT NULL, thumbnail TEXT,
                        resource TEXT, url TEXT, isDone INTEGER NOT NULL
                    ) WITHOUT ROWID;
                    CREATE INDEX uploadMessage ON upload (message, ordinal);

                    CREATE TABLE file (
                        key TEXT PRIMARY KEY, hash TEXT NOT NULL, size INTEGER NOT NULL, usedAt REAL NOT NULL
                    ) WITHOUT ROWID;
                    CREATE INDEX fileHash ON file (hash);

                    CREATE TABLE draft (
                        conversation TEXT PRIMARY KEY, body TEXT NOT NULL, updatedAt REAL NOT NULL
                    ) WITHOUT ROWID;

                    CREATE TABLE extension (
                        conversation TEXT NOT NULL, message BLOB NOT NULL, body TEXT NOT NULL,
                        PRIMARY KEY (conversation, message)
                    ) WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("4") { db in
            try db.execute(
                sql: """
                    ALTER TABLE conversation ADD COLUMN touchedRev INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE conversation ADD COLUMN certainty INTEGER NOT NULL DEFAULT 1;
                    ALTER TABLE conversation ADD COLUMN ownRev INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE conversation ADD COLUMN memberRev INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE conversation ADD COLUMN moved INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE conversation ADD COLUMN removedSeq INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE conversation ADD COLUMN addedTime INTEGER;
                    ALTER TABLE conversation ADD COLUMN roamSeq INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE conversation ADD COLUMN hidesLast INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE conversation ADD COLUMN recentTime INTEGER;
                    ALTER TABLE conversation ADD COLUMN lastRev INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE conversation ADD COLUMN extension TEXT;
                    ALTER TABLE conversation ADD COLUMN missedAfter INTEGER;
                    CREATE INDEX unreadCounts ON conversation (kind, isMuted, unread, mentions)
                        WHERE isRecent AND isMember AND (unread > 0 OR mentions > 0);
                    CREATE INDEX pendingReads ON conversation (number) WHERE pendingReadSeq IS NOT NULL;

                    CREATE TABLE pendingState (
                        conversation TEXT NOT NULL, sort TEXT NOT NULL, body TEXT NOT NULL,
                        PRIMARY KEY (conversation, sort)
                    ) WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("5") { db in
            try db.execute(
                sql: """
                    ALTER TABLE conversation ADD COLUMN peerReadSeq INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE conversation ADD COLUMN isFrozen INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE conversation ADD COLUMN mutedUntil REAL;
                    """)
        }
        migrator.registerMigration("6") { db in
            try db.execute(sql: "ALTER TABLE conversation ADD COLUMN pendingReadRev INTEGER")
        }
        migrator.registerMigration("7") { db in
            try db.execute(sql: "ALTER TABLE conversation ADD COLUMN notifications TEXT")
        }
        migrator.registerMigration("8", migrate: EncryptionSchema.create)
        migrator.registerMigration("9") { db in
            try db.execute(
                sql: """
                    ALTER TABLE outbox ADD COLUMN subject TEXT;
                    CREATE INDEX outboxSubject ON outbox (subject, ordinal) WHERE subject IS NOT NULL;
                    CREATE INDEX messagePinned ON message (conversation, seq) WHERE flags & 64;
                    """)
        }
        migrator.registerMigration("10") { db in
            try db.execute(
                sql: """
                    CREATE TABLE thread (
                        conversation INTEGER NOT NULL, thread BLOB NOT NULL, isFollowed INTEGER NOT NULL,
                        readSeq INTEGER NOT NULL, userRev INTEGER NOT NULL, PRIMARY KEY (conversation, thread)
                    ) WITHOUT ROWID;
                    CREATE INDEX messageLastReply ON message (conversation, lastReply) WHERE lastReply IS NOT NULL;
                    """)
        }
        migrator.registerMigration("11") { db in
            try db.execute(
                sql: """
                    CREATE TABLE draftSync (
                        conversation TEXT PRIMARY KEY, version INTEGER NOT NULL, isPending INTEGER NOT NULL,
                        rev INTEGER NOT NULL
                    ) WITHOUT ROWID;
                    INSERT INTO draftSync SELECT conversation, row_number() OVER (ORDER BY updatedAt), 1, 0 FROM draft;
                    """)
        }
        migrator.registerMigration("12") { db in
            try db.execute(
                sql: """
                    CREATE TABLE member (
                        conversation TEXT NOT NULL, user TEXT NOT NULL, role TEXT NOT NULL, mutedUntil REAL,
                        PRIMARY KEY (conversation, user)
                    ) WITHOUT ROWID;
                    """)
        }
        registerSeveralMessagesOfAFile(in: &migrator)
        registerDeliveries(in: &migrator)
        migrator.registerMigration("15", migrate: renameTablesAndColumns)
        registerKeptMessages(in: &migrator)
        return migrator
    }

    /// The columns that migration 15 renames, beside the table `void`.
    package static let renamedColumns = [
        (table: "conversation", old: "n", new: "countedIndex"),
        (table: "conversation", old: "moved", new: "lastCommit"),
        (table: "conversation", old: "roamSeq", new: "newDeviceFloor"),
        (table: "conversation", old: "readAtN", new: "readAtCountedIndex"),
        (table: "conversation", old: "pendingReadN", new: "pendingReadCountedIndex"),
        (table: "message", old: "n", new: "countedIndex"),
    ]

    /// Gives tables and columns the names of the values that they store, by changes of the schema only.
    private static func renameTablesAndColumns(_ db: Database) throws {
        try db.execute(sql: "ALTER TABLE void RENAME TO deletedRange")
        for (table, old, new) in renamedColumns {
            try db.execute(sql: "ALTER TABLE \(table) RENAME COLUMN \(old) TO \(new)")
        }
    }

    private static func registerDeliveries(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("14") { db in
            try db.execute(
                sql: """
                    ALTER TABLE conversation ADD COLUMN hasDeliveries INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE conversation ADD COLUMN peerDeliveredSeq INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE conversation ADD COLUMN deliveredSeq INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE conversation ADD COLUMN deliverySeq INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE conversation ADD COLUMN deliverySearchedSeq INTEGER NOT NULL DEFAULT 0;
                    UPDATE conversation SET peerDeliveredSeq = peerReadSeq, deliveredSeq = replayed;
                    CREATE INDEX dueDeliveries ON conversation (number) WHERE deliverySeq > deliveredSeq;
                    """)
        }
    }

    private static func registerKeptMessages(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("16") { db in
            try db.execute(
                sql: """
                    CREATE TABLE keptMessage (
                        conversation INTEGER NOT NULL, seq INTEGER NOT NULL, id BLOB NOT NULL,
                        timetoken INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (conversation, seq)
                    ) WITHOUT ROWID;
                    """)
        }
    }

    private static func registerSeveralMessagesOfAFile(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("13") { db in
            try db.execute(
                sql: """
                    CREATE TABLE newUpload (
                        media TEXT NOT NULL, message BLOB NOT NULL, ordinal INTEGER NOT NULL,
                        type TEXT NOT NULL, name TEXT, mediaType TEXT NOT NULL,
                        hash TEXT NOT NULL, size INTEGER NOT NULL, thumbnail TEXT,
                        resource TEXT, url TEXT, isDone INTEGER NOT NULL, PRIMARY KEY (media, message)
                    ) WITHOUT ROWID;
                    INSERT INTO newUpload
                        SELECT media, message, ordinal, type, name, mediaType, hash, size, thumbnail, resource, url,
                            isDone
                        FROM upload;
                    DROP TABLE upload;
                    ALTER TABLE newUpload RENAME TO upload;
                    CREATE INDEX uploadMessage ON upload (message, ordinal);
                    """)
        }
    }
}
