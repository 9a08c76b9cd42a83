import Foundation
import GRDB
import ScrollbackEngine
import ScrollbackModel

extension SQLiteStore {
    /// Creates the table of what users have added in one day.
    static func createUsageTable(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE usage (
                    user TEXT NOT NULL PRIMARY KEY,
                    day INTEGER NOT NULL,
                    groups INTEGER NOT NULL,
                    members INTEGER NOT NULL,
                    fileBytes INTEGER NOT NULL,
                    messageBytes INTEGER NOT NULL
                ) WITHOUT ROWID, STRICT;
                CREATE INDEX usage_day ON usage (day);
                """)
    }

    /// Adds what former members and users who accept only invitations need.
    static func addMembershipEnds(_ database: Database) throws {
        try database.execute(
            sql: """
                ALTER TABLE span ADD COLUMN endedAt INTEGER;
                ALTER TABLE span ADD COLUMN rev INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE span ADD COLUMN isVoluntary INTEGER NOT NULL DEFAULT 0 CHECK (isVoluntary IN (0, 1));
                ALTER TABLE span ADD COLUMN name TEXT;
                ALTER TABLE span ADD COLUMN avatar TEXT;

                ALTER TABLE conversation ADD COLUMN namedAt INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE media ADD COLUMN thumbnailAt INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE user ADD COLUMN isInvitationOnly INTEGER NOT NULL DEFAULT 0
                    CHECK (isInvitationOnly IN (0, 1));
                """)
    }

    /// Creates the table of incarnations, with one row for each start of a server.
    static func createIncarnationTable(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE incarnation (
                    number INTEGER PRIMARY KEY,
                    id BLOB NOT NULL UNIQUE,
                    generation INTEGER NOT NULL,
                    firstCommit INTEGER NOT NULL,
                    newest INTEGER NOT NULL,
                    lostAfter INTEGER
                ) STRICT;
                """)
    }

    /// Adds the users' states in threads, the sets of replies, and the order of threads by their newest reply.
    static func addThreads(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE INDEX message_lastReply ON message (conversation, lastReply) WHERE lastReply IS NOT NULL;

                CREATE TABLE threadState (
                    conversation INTEGER NOT NULL,
                    user TEXT NOT NULL,
                    thread BLOB NOT NULL,
                    following INTEGER NOT NULL CHECK (following IN (0, 1, 2)),
                    readSeq INTEGER NOT NULL,
                    readN INTEGER NOT NULL,
                    userRev INTEGER NOT NULL,
                    PRIMARY KEY (conversation, user, thread)
                ) WITHOUT ROWID, STRICT;
                CREATE INDEX threadState_thread ON threadState (conversation, thread);

                -- Members follow the threads that they began, replied in, or are mentioned in.
                INSERT INTO threadState (conversation, user, thread, following, readSeq, readN, userRev)
                SELECT first.conversation, first.sender, first.id, 1, 0, 0, 0 FROM message AS first
                JOIN member ON member.conversation = first.conversation AND member.user = first.sender
                WHERE first.lastReply IS NOT NULL;

                INSERT OR IGNORE INTO threadState (conversation, user, thread, following, readSeq, readN, userRev)
                SELECT reply.conversation, reply.sender, first.id, 1, 0, 0, 0 FROM message AS reply
                JOIN member ON member.conversation = reply.conversation AND member.user = reply.sender
                JOIN message AS first ON first.conversation = reply.conversation AND first.id = reply.thread
                WHERE reply.thread IS NOT NULL;

                INSERT OR IGNORE INTO threadState (conversation, user, thread, following, readSeq, readN, userRev)
                SELECT reply.conversation, mention.user, first.id, 1, 0, 0, 0 FROM mention
                JOIN message AS reply ON reply.conversation = mention.conversation AND reply.seq = mention.seq
                JOIN member ON member.conversation = reply.conversation AND member.user = mention.user
                JOIN message AS first ON first.conversation = reply.conversation AND first.id = reply.thread
                WHERE mention.user <> '' AND reply.thread IS NOT NULL;
                """)
        try addReplies(database)
    }

    /// Stores the sets of the replies that exist.
    private static func addReplies(_ database: Database) throws {
        let replies = try Row.fetchCursor(
            database,
            sql: """
                SELECT reply.conversation, reply.thread, reply.n, reply.type, reply.flags FROM message AS reply
                JOIN message AS first ON first.id = reply.thread AND first.conversation = reply.conversation
                WHERE reply.thread IS NOT NULL ORDER BY reply.conversation, reply.thread, reply.seq
                """)
        var last: (conversation: Int64, thread: String, block: BitBlock)?
        func store() throws {
            guard let last else { return }
            try withUnsafeBytes(of: last.block.words) { words in
                try database.execute(
                    sql: "INSERT INTO bits (conversation, kind, user, block, words) VALUES (?, 3, ?, ?, ?)",
                    arguments: [last.conversation, last.thread, last.block.index, Data(words)])
            }
        }
        while let row = try replies.next() {
            let traits = MessageType(rawValue: row[3]).traits.restricted(by: MessageTraits(bits: row[4]))
            guard traits.countsUnread else { continue }
            let number: Int64 = row[2]
            let next = (
                conversation: row[0] as Int64, thread: MessageID(row[1] as UUID).description,
                block: BitBlock(index: BitBlock.index(of: number))
            )
            if last?.conversation != next.conversation || last?.thread != next.thread
                || last?.block.index != next.block.index
            {
                try store()
                last = next
            }
            last?.block.insert(number...number)
        }
        try store()
    }

    /// Creates the table of drafts.
    static func createDraftTable(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE draft (
                    user TEXT NOT NULL,
                    conversation TEXT NOT NULL,
                    body TEXT,
                    rev INTEGER NOT NULL,
                    PRIMARY KEY (user, conversation)
                ) WITHOUT ROWID, STRICT;
                CREATE INDEX draft_rev ON draft (user, rev);
                CREATE INDEX draft_conversation ON draft (conversation);
                """)
    }

    /// Adds the webhook of each delivery, and the columns of the delivery log.
    static func addDeliveryLog(_ database: Database) throws {
        try database.execute(
            sql: """
                ALTER TABLE delivery ADD COLUMN webhook TEXT NOT NULL DEFAULT 'after';
                ALTER TABLE delivery ADD COLUMN event TEXT;
                ALTER TABLE delivery ADD COLUMN seq INTEGER;
                ALTER TABLE delivery ADD COLUMN original INTEGER;
                ALTER TABLE delivery ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE delivery ADD COLUMN attemptedAt REAL;
                ALTER TABLE delivery ADD COLUMN error TEXT;
                ALTER TABLE delivery ADD COLUMN isDelivered INTEGER NOT NULL DEFAULT 0 CHECK (isDelivered IN (0, 1));
                DROP INDEX delivery_conversation;
                CREATE INDEX delivery_pending ON delivery (webhook, conversation, number) WHERE isDelivered = 0;
                CREATE INDEX delivery_webhook ON delivery (webhook, number);
                CREATE INDEX delivery_content ON delivery (conversation, seq) WHERE isDelivered = 1;
                CREATE INDEX delivery_time ON delivery (attemptedAt) WHERE isDelivered = 1;
                """)
    }

    /// Creates the table of the audit log.
    static func createAuditTable(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE audit (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    at REAL NOT NULL,
                    actor TEXT NOT NULL,
                    keyID TEXT,
                    issuedAt REAL,
                    action TEXT NOT NULL,
                    user TEXT,
                    conversation INTEGER NOT NULL,
                    detail TEXT
                ) STRICT;
                CREATE INDEX audit_actor ON audit (actor, number);
                CREATE INDEX audit_user ON audit (user, number) WHERE user IS NOT NULL;
                CREATE INDEX audit_conversation ON audit (conversation, number);
                CREATE INDEX audit_time ON audit (at);
                """)
    }

    /// Creates the table of scheduled messages.
    static func createScheduledTable(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE scheduled (
                    user TEXT NOT NULL,
                    id BLOB NOT NULL,
                    conversation TEXT NOT NULL,
                    sendAt REAL NOT NULL,
                    dueAt REAL NOT NULL,
                    body TEXT NOT NULL,
                    failure TEXT,
                    PRIMARY KEY (user, id)
                ) WITHOUT ROWID, STRICT;
                CREATE INDEX scheduled_due ON scheduled (dueAt) WHERE failure IS NULL;
                CREATE INDEX scheduled_conversation ON scheduled (conversation);
                """)
    }

    /// Adds indexes, so that the deletion of content finds pending events, and the log is read without them.
    static func addDeliveryIndexes(_ database: Database) throws {
        try database.execute(
            sql: """
                DROP INDEX delivery_content;
                CREATE INDEX delivery_content ON delivery (conversation, seq) WHERE seq IS NOT NULL;
                CREATE INDEX delivery_logged ON delivery (webhook, number) WHERE isDelivered = 1;
                """)
    }

    /// Creates the table of incoming webhooks.
    static func createIncomingWebhookTable(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE incomingWebhook (
                    id TEXT NOT NULL PRIMARY KEY,
                    conversation TEXT NOT NULL,
                    user TEXT NOT NULL,
                    secretHash BLOB NOT NULL CHECK (length(secretHash) = 32),
                    createdAt REAL NOT NULL
                ) WITHOUT ROWID, STRICT;
                CREATE INDEX incomingWebhook_user ON incomingWebhook (user, id);
                CREATE INDEX incomingWebhook_conversation ON incomingWebhook (conversation);
                """)
    }

    /// Creates the table of cancelled messages, of which only the digests are kept.
    static func createCancelledTable(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE cancelled (
                    user TEXT NOT NULL,
                    id BLOB NOT NULL,
                    digest INTEGER NOT NULL,
                    at REAL NOT NULL,
                    PRIMARY KEY (user, id)
                ) WITHOUT ROWID, STRICT;
                CREATE INDEX cancelled_at ON cancelled (user, at, id);
                """)
    }
}
