import GRDB
import SQLiteSupport

extension LocalStore {
    /// Creates the tables of the newest schema in a new file, with the rows that a new store has.
    ///
    /// A new migration also changes these tables. A test compares the tables of a new file with those that the
    /// migrations create. Columns are in the same order as in a migrated file, where added columns are the last ones.
    static func createNewestTables(_ db: Database) throws {
        for group in [storeTables, conversationTables, messageTables, queueTables, fileTables] {
            try db.execute(sql: group)
        }
        try EncryptionSchema.create(db)
    }

    /// The tables of the store itself, and of users.
    private static let storeTables = """
        CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

        -- An empty profile means that the user has none.
        CREATE TABLE person (
            user TEXT PRIMARY KEY, profile TEXT NOT NULL, fetchedAt REAL NOT NULL
        ) WITHOUT ROWID;
        """

    /// The tables of conversations, their members, and the user's settings.
    private static let conversationTables = """
        -- One row for each conversation: its log state, read state, and entry in the recents list.
        CREATE TABLE conversation (
            number INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            kind TEXT NOT NULL,
            name TEXT, avatar TEXT,
            -- The log state; epoch is NULL until the head is known.
            epoch INTEGER, view INTEGER NOT NULL DEFAULT 0,
            firstSeq INTEGER NOT NULL DEFAULT 1, head INTEGER NOT NULL DEFAULT 0,
            countedIndex INTEGER NOT NULL DEFAULT 0, rev INTEGER NOT NULL DEFAULT 0,
            latestRev INTEGER NOT NULL DEFAULT 0, replayed INTEGER NOT NULL DEFAULT 0,
            baselineSeq INTEGER NOT NULL DEFAULT 0, baselineRev INTEGER NOT NULL DEFAULT 0,
            -- The read state, and the log state that it was computed from.
            readSeq INTEGER NOT NULL DEFAULT 0, unread INTEGER NOT NULL DEFAULT 0,
            mentions INTEGER NOT NULL DEFAULT 0,
            readAtSeq INTEGER NOT NULL DEFAULT 0, readAtCountedIndex INTEGER NOT NULL DEFAULT 0,
            readAtRev INTEGER NOT NULL DEFAULT 0, readAtUserRev INTEGER NOT NULL DEFAULT 0,
            readExactSeq INTEGER NOT NULL DEFAULT 0,
            pendingReadSeq INTEGER, pendingReadCountedIndex INTEGER,
            -- The entry in the list of recent conversations.
            isMember INTEGER NOT NULL DEFAULT 1, isMuted INTEGER NOT NULL DEFAULT 0,
            isPinned INTEGER NOT NULL DEFAULT 0, isMarkedUnread INTEGER NOT NULL DEFAULT 0,
            lastSeq INTEGER NOT NULL DEFAULT 0, sortTime INTEGER NOT NULL DEFAULT 0,
            isRecent INTEGER NOT NULL DEFAULT 0,
            -- The last revision that changed the counts; their certainty (0 exact, 1 estimated, 2 disputed).
            touchedRev INTEGER NOT NULL DEFAULT 0, certainty INTEGER NOT NULL DEFAULT 1,
            -- The user revision of the known settings and of the known membership, and the server commit of the known
            -- name.
            ownRev INTEGER NOT NULL DEFAULT 0, memberRev INTEGER NOT NULL DEFAULT 0,
            lastCommit INTEGER NOT NULL DEFAULT 0,
            -- The head when the user removed it from the list, and the time when the user added it.
            removedSeq INTEGER NOT NULL DEFAULT 0, addedTime INTEGER,
            -- The sequence number up to which a new device downloads nothing automatically.
            newDeviceFloor INTEGER NOT NULL DEFAULT 0,
            -- Whether the user added it without showing its last message, until the next message.
            hidesLast INTEGER NOT NULL DEFAULT 0,
            -- The time of its last activity reported by the server, if its last message is not stored here.
            recentTime INTEGER,
            -- The revision of the last message.
            lastRev INTEGER NOT NULL DEFAULT 0,
            -- App-defined data of the entry, on this device only.
            extension TEXT,
            -- The newest sequence number this device had before it missed messages.
            missedAfter INTEGER,
            -- The peer's read position in a direct conversation, and whether the user may write. An infinite time means
            -- a permanent mute.
            peerReadSeq INTEGER NOT NULL DEFAULT 0, isFrozen INTEGER NOT NULL DEFAULT 0, mutedUntil REAL,
            -- The newest user revision that was known when the pending read was made; NULL if the read ends every
            -- unread marker.
            pendingReadRev INTEGER,
            -- The user's notification level for the conversation, if set.
            notifications TEXT,
            -- Whether the server says that the conversation has delivery receipts, and the peer's position.
            hasDeliveries INTEGER NOT NULL DEFAULT 0, peerDeliveredSeq INTEGER NOT NULL DEFAULT 0,
            -- The position of this device that the server knows, the one to report, and the one through which the
            -- messages were searched for those to report.
            deliveredSeq INTEGER NOT NULL DEFAULT 0, deliverySeq INTEGER NOT NULL DEFAULT 0,
            deliverySearchedSeq INTEGER NOT NULL DEFAULT 0
        );
        CREATE INDEX recents ON conversation (isPinned DESC, sortTime DESC, number DESC) WHERE isRecent;
        CREATE INDEX unreadCounts ON conversation (kind, isMuted, unread, mentions)
            WHERE isRecent AND isMember AND (unread > 0 OR mentions > 0);
        CREATE INDEX pendingReads ON conversation (number) WHERE pendingReadSeq IS NOT NULL;
        CREATE INDEX dueDeliveries ON conversation (number) WHERE deliverySeq > deliveredSeq;

        -- The members that the server listed. An infinite time means a permanent mute.
        CREATE TABLE member (
            conversation TEXT NOT NULL, user TEXT NOT NULL, role TEXT NOT NULL, mutedUntil REAL,
            PRIMARY KEY (conversation, user)
        ) WITHOUT ROWID;

        -- Settings that the server has not confirmed, one of each sort for each conversation.
        CREATE TABLE pendingState (
            conversation TEXT NOT NULL, sort TEXT NOT NULL, body TEXT NOT NULL,
            PRIMARY KEY (conversation, sort)
        ) WITHOUT ROWID;

        -- Drafts, at most one for each conversation.
        CREATE TABLE draft (
            conversation TEXT PRIMARY KEY, body TEXT NOT NULL, updatedAt REAL NOT NULL
        ) WITHOUT ROWID;

        -- The drafts that were changed on this device: the number of the newest change, whether the server has not
        -- accepted it, and the user revision of the newest draft that the server has.
        CREATE TABLE draftSync (
            conversation TEXT PRIMARY KEY, version INTEGER NOT NULL, isPending INTEGER NOT NULL,
            rev INTEGER NOT NULL
        ) WITHOUT ROWID;
        """

    /// The tables of messages, threads, and ranges of sequence numbers.
    private static let messageTables = """
        CREATE TABLE message (
            conversation INTEGER NOT NULL, seq INTEGER NOT NULL, countedIndex INTEGER NOT NULL,
            timetoken INTEGER NOT NULL, id BLOB NOT NULL, sender TEXT NOT NULL, type TEXT NOT NULL,
            content TEXT, rev INTEGER NOT NULL, flags INTEGER NOT NULL,
            mentions TEXT, metadata TEXT, extra TEXT, customType TEXT, push TEXT, replyTo BLOB,
            editedAt REAL, thread BLOB, replyCount INTEGER, lastReply INTEGER, actions TEXT,
            PRIMARY KEY (conversation, seq)
        ) WITHOUT ROWID;
        CREATE UNIQUE INDEX messageID ON message (conversation, id);
        CREATE INDEX messageThread ON message (conversation, thread, seq) WHERE thread IS NOT NULL;
        CREATE INDEX messagePinned ON message (conversation, seq) WHERE flags & 64;
        CREATE INDEX messageLastReply ON message (conversation, lastReply) WHERE lastReply IS NOT NULL;

        -- The user's state in threads, as the server last reported it.
        CREATE TABLE thread (
            conversation INTEGER NOT NULL, thread BLOB NOT NULL, isFollowed INTEGER NOT NULL,
            readSeq INTEGER NOT NULL, userRev INTEGER NOT NULL, PRIMARY KEY (conversation, thread)
        ) WITHOUT ROWID;

        -- Gaps (messages that are not stored here) and deleted ranges (sequence numbers without a visible message).
        -- They are disjoint. The key makes finding the range of a sequence number a single seek.
        CREATE TABLE gap (
            conversation INTEGER NOT NULL, upper INTEGER NOT NULL, lower INTEGER NOT NULL,
            PRIMARY KEY (conversation, upper), CHECK (lower <= upper)
        ) WITHOUT ROWID;
        CREATE TABLE deletedRange (
            conversation INTEGER NOT NULL, upper INTEGER NOT NULL, lower INTEGER NOT NULL,
            PRIMARY KEY (conversation, upper), CHECK (lower <= upper)
        ) WITHOUT ROWID;

        -- App-defined data of messages, on this device only.
        CREATE TABLE extension (
            conversation TEXT NOT NULL, message BLOB NOT NULL, body TEXT NOT NULL,
            PRIMARY KEY (conversation, message)
        ) WITHOUT ROWID;

        -- Ranges whose rows changed since they were indexed. A recorded range never changes, and its ID is never
        -- reused. Changes made while a range is being indexed are recorded as a new range.
        CREATE TABLE unindexed (
            id INTEGER PRIMARY KEY AUTOINCREMENT, conversation INTEGER NOT NULL,
            lower INTEGER NOT NULL, upper INTEGER NOT NULL, CHECK (lower <= upper)
        );
        """

    /// The tables of queued messages and changes, and of messages that may be queued again.
    private static let queueTables = """
        CREATE TABLE outbox (
            id BLOB PRIMARY KEY, conversation TEXT NOT NULL, ordinal INTEGER NOT NULL,
            createdAt REAL NOT NULL, state TEXT NOT NULL, until REAL, error TEXT,
            attempts INTEGER NOT NULL,
            -- OutboxItem.wasTransmitted.
            isFrozen INTEGER NOT NULL,
            -- A message to send, or another request about a message, and its OutboxRequest.storedText.
            kind TEXT NOT NULL CHECK (kind IN ('send', 'change')), body TEXT NOT NULL, about BLOB,
            -- Whether a message has files that are not uploaded yet.
            needsUpload INTEGER NOT NULL DEFAULT 0,
            -- What a queued change concerns if it is not a message: OutboxRequest.Subject.
            subject TEXT
        ) WITHOUT ROWID;
        CREATE INDEX outboxLane ON outbox (conversation, ordinal);
        CREATE INDEX outboxSubject ON outbox (subject, ordinal) WHERE subject IS NOT NULL;

        -- The user's own messages of logs that the server replaced because its store went back, with their
        -- OutboxRequest.storedText.
        CREATE TABLE keptMessage (
            conversation INTEGER NOT NULL, seq INTEGER NOT NULL, id BLOB NOT NULL, timetoken INTEGER NOT NULL,
            body TEXT NOT NULL, PRIMARY KEY (conversation, seq)
        ) WITHOUT ROWID;
        """

    /// The tables of files.
    private static let fileTables = """
        -- The files of messages in the outbox; deleted with their message. Two queued messages can have the same file,
        -- if the server lost both.
        CREATE TABLE upload (
            media TEXT NOT NULL, message BLOB NOT NULL, ordinal INTEGER NOT NULL,
            type TEXT NOT NULL, name TEXT, mediaType TEXT NOT NULL,
            hash TEXT NOT NULL, size INTEGER NOT NULL, thumbnail TEXT,
            resource TEXT, url TEXT, isDone INTEGER NOT NULL, PRIMARY KEY (media, message)
        ) WITHOUT ROWID;
        CREATE INDEX uploadMessage ON upload (message, ordinal);

        -- The files on this device, stored under the hash of their content, by media ID or URL.
        CREATE TABLE file (
            key TEXT PRIMARY KEY, hash TEXT NOT NULL, size INTEGER NOT NULL, usedAt REAL NOT NULL
        ) WITHOUT ROWID;
        CREATE INDEX fileHash ON file (hash);
        """
}
