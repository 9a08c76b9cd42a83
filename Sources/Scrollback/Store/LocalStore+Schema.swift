import GRDB
import SQLiteSupport

extension LocalStore {
    /// The migrations of the schema.
    ///
    /// A released migration must never be changed.
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { db in
            try db.execute(
                sql: """
                    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

                    -- One row for each conversation: its log state, read state, and entry in the recents list.
                    CREATE TABLE conversation (
                        number INTEGER PRIMARY KEY,
                        id TEXT NOT NULL UNIQUE,
                        kind TEXT NOT NULL,
                        name TEXT, avatar TEXT,
                        -- The log state; epoch is NULL until the head is known.
                        epoch INTEGER, view INTEGER NOT NULL DEFAULT 0,
                        firstSeq INTEGER NOT NULL DEFAULT 1, head INTEGER NOT NULL DEFAULT 0,
                        n INTEGER NOT NULL DEFAULT 0, rev INTEGER NOT NULL DEFAULT 0,
                        latestRev INTEGER NOT NULL DEFAULT 0, replayed INTEGER NOT NULL DEFAULT 0,
                        baselineSeq INTEGER NOT NULL DEFAULT 0, baselineRev INTEGER NOT NULL DEFAULT 0,
                        -- The read state, and the log state that it was computed from.
                        readSeq INTEGER NOT NULL DEFAULT 0, unread INTEGER NOT NULL DEFAULT 0,
                        mentions INTEGER NOT NULL DEFAULT 0,
                        readAtSeq INTEGER NOT NULL DEFAULT 0, readAtN INTEGER NOT NULL DEFAULT 0,
                        readAtRev INTEGER NOT NULL DEFAULT 0, readAtUserRev INTEGER NOT NULL DEFAULT 0,
                        readExactSeq INTEGER NOT NULL DEFAULT 0,
                        pendingReadSeq INTEGER, pendingReadN INTEGER,
                        -- The entry in the list of recent conversations.
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

                    -- Gaps (messages that are not stored here) and voids (sequence numbers without a visible message).
                    -- They are disjoint. The key makes finding the range of a sequence number a single seek.
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
                        -- A message to send, or another request about a message, and its OutboxRequest.storedText.
                        kind TEXT NOT NULL CHECK (kind IN ('send', 'change')), body TEXT NOT NULL, about BLOB
                    ) WITHOUT ROWID;
                    CREATE INDEX outboxLane ON outbox (conversation, ordinal);

                    -- An empty profile means that the user has none.
                    CREATE TABLE person (
                        user TEXT PRIMARY KEY, profile TEXT NOT NULL, fetchedAt REAL NOT NULL
                    ) WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("2") { db in
            // Ranges whose rows changed since they were indexed. A recorded range never changes, and its ID is never
            // reused. Changes made while a range is being indexed are recorded as a new range.
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
                    -- Whether a message has files that are not uploaded yet.
                    ALTER TABLE outbox ADD COLUMN needsUpload INTEGER NOT NULL DEFAULT 0;

                    -- The files of messages in the outbox; deleted with their message.
                    CREATE TABLE upload (
                        media TEXT PRIMARY KEY, message BLOB NOT NULL, ordinal INTEGER NOT NULL,
                        type TEXT NOT NULL, name TEXT, mediaType TEXT NOT NULL,
                        hash TEXT NOT NULL, size INTEGER NOT NULL, thumbnail TEXT,
                        resource TEXT, url TEXT, isDone INTEGER NOT NULL
                    ) WITHOUT ROWID;
                    CREATE INDEX uploadMessage ON upload (message, ordinal);

                    -- The files on this device, stored under the hash of their content, by media ID or URL.
                    CREATE TABLE file (
                        key TEXT PRIMARY KEY, hash TEXT NOT NULL, size INTEGER NOT NULL, usedAt REAL NOT NULL
                    ) WITHOUT ROWID;
                    CREATE INDEX fileHash ON file (hash);

                    -- Drafts, at most one for each conversation.
                    CREATE TABLE draft (
                        conversation TEXT PRIMARY KEY, body TEXT NOT NULL, updatedAt REAL NOT NULL
                    ) WITHOUT ROWID;

                    -- App-defined data of messages, on this device only.
                    CREATE TABLE extension (
                        conversation TEXT NOT NULL, message BLOB NOT NULL, body TEXT NOT NULL,
                        PRIMARY KEY (conversation, message)
                    ) WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("4") { db in
            try db.execute(
                sql: """
                    -- The last revision that changed the counts; their certainty (0 exact, 1 estimated, 2 disputed).
                    ALTER TABLE conversation ADD COLUMN touchedRev INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE conversation ADD COLUMN certainty INTEGER NOT NULL DEFAULT 1;
                    -- The user revision of the known settings and of the known membership, and the server commit of the
                    -- known name.
                    ALTER TABLE conversation ADD COLUMN ownRev INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE conversation ADD COLUMN memberRev INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE conversation ADD COLUMN moved INTEGER NOT NULL DEFAULT 0;
                    -- The head when the user removed it from the list, and the time when the user added it.
                    ALTER TABLE conversation ADD COLUMN removedSeq INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE conversation ADD COLUMN addedTime INTEGER;
                    -- The sequence number up to which a new device downloads nothing automatically.
                    ALTER TABLE conversation ADD COLUMN roamSeq INTEGER NOT NULL DEFAULT 0;
                    -- Whether the user added it without showing its last message, until the next message.
                    ALTER TABLE conversation ADD COLUMN hidesLast INTEGER NOT NULL DEFAULT 0;
                    -- The time of its last activity reported by the server, if its last message is not stored here.
                    ALTER TABLE conversation ADD COLUMN recentTime INTEGER;
                    -- The revision of the last message.
                    ALTER TABLE conversation ADD COLUMN lastRev INTEGER NOT NULL DEFAULT 0;
                    -- App-defined data of the entry, on this device only.
                    ALTER TABLE conversation ADD COLUMN extension TEXT;
                    -- The newest sequence number this device had before it missed messages.
                    ALTER TABLE conversation ADD COLUMN missedAfter INTEGER;
                    CREATE INDEX unreadCounts ON conversation (kind, isMuted, unread, mentions)
                        WHERE isRecent AND isMember AND (unread > 0 OR mentions > 0);
                    CREATE INDEX pendingReads ON conversation (number) WHERE pendingReadSeq IS NOT NULL;

                    -- Settings that the server has not confirmed, one of each sort for each conversation.
                    CREATE TABLE pendingState (
                        conversation TEXT NOT NULL, sort TEXT NOT NULL, body TEXT NOT NULL,
                        PRIMARY KEY (conversation, sort)
                    ) WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("5") { db in
            // The peer's read position in a direct conversation, and whether the user may write. An infinite time means
            // a permanent mute.
            try db.execute(
                sql: """
                    ALTER TABLE conversation ADD COLUMN peerReadSeq INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE conversation ADD COLUMN isFrozen INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE conversation ADD COLUMN mutedUntil REAL;
                    """)
        }
        migrator.registerMigration("6") { db in
            // The newest user revision that was known when the pending read was made; NULL if the read ends every
            // unread marker.
            try db.execute(sql: "ALTER TABLE conversation ADD COLUMN pendingReadRev INTEGER")
        }
        migrator.registerMigration("7") { db in
            // The user's notification level for the conversation, if set.
            try db.execute(sql: "ALTER TABLE conversation ADD COLUMN notifications TEXT")
        }
        migrator.registerMigration("8", migrate: EncryptionSchema.create)
        migrator.registerMigration("9") { db in
            // What a queued change concerns if it is not a message: 'settings' or 'deletion' of the conversation, or
            // the user's 'profile'.
            try db.execute(
                sql: """
                    ALTER TABLE outbox ADD COLUMN subject TEXT;
                    CREATE INDEX outboxSubject ON outbox (subject, ordinal) WHERE subject IS NOT NULL;
                    CREATE INDEX messagePinned ON message (conversation, seq) WHERE flags & 64;
                    """)
        }
        migrator.registerMigration("10") { db in
            // The user's state in threads, as the server last reported it.
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
            // The drafts that were changed on this device: the number of the newest change, whether the server has not
            // accepted it, and the user revision of the newest draft that the server has.
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
            // The members that the server listed. An infinite time means a permanent mute.
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
                    -- Whether the server says that the conversation has delivery receipts, and the peer's position.
                    ALTER TABLE conversation ADD COLUMN hasDeliveries INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE conversation ADD COLUMN peerDeliveredSeq INTEGER NOT NULL DEFAULT 0;
                    -- The position of this device that the server knows, the one to report, and the one through which
                    -- the messages were searched for those to report.
                    ALTER TABLE conversation ADD COLUMN deliveredSeq INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE conversation ADD COLUMN deliverySeq INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE conversation ADD COLUMN deliverySearchedSeq INTEGER NOT NULL DEFAULT 0;
                    UPDATE conversation SET peerDeliveredSeq = peerReadSeq, deliveredSeq = replayed;
                    CREATE INDEX dueDeliveries ON conversation (number) WHERE deliverySeq > deliveredSeq;
                    """)
        }
    }

    /// Two queued messages can have the same file, if the server lost both.
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
