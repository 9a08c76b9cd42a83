extension SQLiteStore {
    /// The tables of the newest schema, which a new file gets, all in this file.
    ///
    /// A new migration also changes these tables. A test compares the tables of a new file with those that the
    /// migrations create.
    ///
    /// - Each primary key starts with the columns that queries specify, so that every query is a seek.
    /// - Names are compared by bytes (`BINARY`). In keys, an empty string stands for an absent name. Names are never
    ///   empty, and NULL values would not be unique.
    /// - Columns are in the same order as in a migrated file, where added columns are the last ones.
    /// - Comments stand before the statements, because SQLite stores the text of a statement with its comments.
    static let tables = [
        storeTables, conversationTables, memberTables, mediaTables, moderationTables, webhookTables, pushTables,
    ]

    /// The tables of the store itself, apart from those of its encryption.
    private static let storeTables = """
        -- The generation of the store, and the number of its last commit.
        CREATE TABLE meta (
            name TEXT NOT NULL PRIMARY KEY,
            value INTEGER NOT NULL
        ) WITHOUT ROWID, STRICT;

        CREATE TABLE setting (
            name TEXT NOT NULL PRIMARY KEY,
            value TEXT NOT NULL
        ) WITHOUT ROWID, STRICT;

        CREATE TABLE incarnation (
            number INTEGER PRIMARY KEY,
            id BLOB NOT NULL UNIQUE,
            generation INTEGER NOT NULL,
            firstCommit INTEGER NOT NULL,
            newest INTEGER NOT NULL,
            lostAfter INTEGER
        ) STRICT;
        """

    /// The tables of users, conversations, and messages.
    private static let conversationTables = """
        -- state 1: deactivated; 2: being erased; 3: erased. isBanned: a ban from the server may exist.
        CREATE TABLE person (
            id TEXT NOT NULL PRIMARY KEY,
            rev INTEGER NOT NULL,
            revokedAt REAL,
            name TEXT,
            avatar TEXT,
            metadata TEXT,
            state INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 3),
            isBanned INTEGER NOT NULL DEFAULT 0 CHECK (isBanned IN (0, 1)),
            isInvitationOnly INTEGER NOT NULL DEFAULT 0 CHECK (isInvitationOnly IN (0, 1))
        ) WITHOUT ROWID, STRICT;
        CREATE INDEX person_state ON person (state, id) WHERE state <> 0;

        -- blocks 1: the first user of a direct conversation has blocked the second; 2: the reverse.
        -- flags 1: a user was banned from it; 2: a user of a direct conversation is missing.
        CREATE TABLE conversation (
            number INTEGER PRIMARY KEY,
            head INTEGER NOT NULL,
            countedIndex INTEGER NOT NULL,
            timetoken INTEGER NOT NULL,
            lastCommit INTEGER NOT NULL,
            rev INTEGER NOT NULL,
            firstSeq INTEGER NOT NULL,
            floorCountedIndex INTEGER NOT NULL,
            floorTime INTEGER NOT NULL,
            sweptSeq INTEGER NOT NULL,
            changeFloor INTEGER NOT NULL,
            retention INTEGER,
            hasDeletedRanges INTEGER NOT NULL CHECK (hasDeletedRanges IN (0, 1)),
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
            isFrozen INTEGER NOT NULL DEFAULT 0 CHECK (isFrozen IN (0, 1)),
            capacity INTEGER,
            hasMutes INTEGER NOT NULL DEFAULT 0 CHECK (hasMutes IN (0, 1)),
            blocks INTEGER NOT NULL DEFAULT 0 CHECK (blocks BETWEEN 0 AND 3),
            recentSeq INTEGER NOT NULL DEFAULT 0,
            recentTime INTEGER NOT NULL DEFAULT 0,
            flags INTEGER NOT NULL DEFAULT 0,
            namedAt INTEGER NOT NULL DEFAULT 0,
            UNIQUE (kind, target, part)
        ) STRICT;

        -- The content is the last column, so that filters read the others without touching long contents.
        CREATE TABLE message (
            conversation INTEGER NOT NULL,
            seq INTEGER NOT NULL,
            countedIndex INTEGER NOT NULL,
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
        -- IDs start with their time. With the ID first, entries of one commit to many conversations are adjacent.
        CREATE UNIQUE INDEX message_id ON message (id, conversation);
        -- Partial indexes for filters; plain text outside of threads adds no entries.
        CREATE INDEX message_type ON message (conversation, seq, type) WHERE type <> 'text';
        CREATE INDEX message_customType ON message (conversation, seq, customType) WHERE customType IS NOT NULL;
        CREATE INDEX message_mentions ON message (conversation, seq) WHERE mentions IS NOT NULL;
        CREATE INDEX message_thread ON message (conversation, thread, seq) WHERE thread IS NOT NULL;
        CREATE INDEX message_lastReply ON message (conversation, lastReply) WHERE lastReply IS NOT NULL;

        -- The IDs of removed messages, so that a retry still gets its result.
        CREATE TABLE messageKey (
            id BLOB NOT NULL,
            conversation INTEGER NOT NULL,
            sender TEXT NOT NULL,
            digest INTEGER NOT NULL,
            seq INTEGER NOT NULL,
            countedIndex INTEGER NOT NULL,
            timetoken INTEGER NOT NULL,
            PRIMARY KEY (conversation, id)
        ) WITHOUT ROWID, STRICT;
        -- This index has the name that the table had in schema 23.
        CREATE INDEX retired_timetoken ON messageKey (timetoken);

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
        CREATE INDEX action_pin ON action (conversation, seq) WHERE type = 'pin';

        -- Sets of numbers as bits. kind 0: counted indexes that no user counts; 1: sequence numbers of messages deleted
        -- one by one; 2: counted indexes that one user does not count; 3: counted indexes of the replies in a thread,
        -- whose ID is in the column userID.
        CREATE TABLE bits (
            conversation INTEGER NOT NULL,
            kind INTEGER NOT NULL,
            userID TEXT NOT NULL,
            block INTEGER NOT NULL,
            words BLOB NOT NULL CHECK (length(words) = 128),
            PRIMARY KEY (conversation, kind, userID, block)
        ) WITHOUT ROWID, STRICT;

        -- Deleted ranges. userID '': for everyone.
        CREATE TABLE deletedRange (
            conversation INTEGER NOT NULL,
            userID TEXT NOT NULL,
            lower INTEGER NOT NULL,
            upper INTEGER NOT NULL CHECK (lower <= upper),
            userRev INTEGER NOT NULL,
            holdsMessages INTEGER NOT NULL CHECK (holdsMessages IN (0, 1)),
            PRIMARY KEY (conversation, userID, lower)
        ) WITHOUT ROWID, STRICT;

        -- userID '': everyone.
        CREATE TABLE mention (
            conversation INTEGER NOT NULL,
            userID TEXT NOT NULL,
            seq INTEGER NOT NULL,
            sender TEXT NOT NULL,
            PRIMARY KEY (conversation, userID, seq)
        ) WITHOUT ROWID, STRICT;
        """

    /// The tables of members, former members, and their states in conversations.
    private static let memberTables = """
        -- By user first: listing reads all rows of a user, which is more frequent than reading all members of a
        -- conversation.
        CREATE TABLE member (
            userID TEXT NOT NULL,
            conversation INTEGER NOT NULL,
            standing INTEGER NOT NULL CHECK (standing BETWEEN 0 AND 2),
            role TEXT NOT NULL,
            joinSeq INTEGER NOT NULL,
            joinCountedIndex INTEGER NOT NULL,
            readSeq INTEGER NOT NULL,
            readCountedIndex INTEGER NOT NULL,
            clearSeq INTEGER NOT NULL,
            clearCountedIndex INTEGER NOT NULL,
            removedSeq INTEGER NOT NULL DEFAULT 0,
            newDeviceFloor INTEGER NOT NULL DEFAULT 0,
            isMuted INTEGER NOT NULL CHECK (isMuted IN (0, 1)),
            isPinned INTEGER NOT NULL CHECK (isPinned IN (0, 1)),
            isMarkedUnread INTEGER NOT NULL CHECK (isMarkedUnread IN (0, 1)),
            markedRev INTEGER NOT NULL DEFAULT 0,
            view INTEGER NOT NULL,
            userRev INTEGER NOT NULL,
            hasDeletedRanges INTEGER NOT NULL CHECK (hasDeletedRanges IN (0, 1)),
            level TEXT,
            PRIMARY KEY (userID, conversation)
        ) WITHOUT ROWID, STRICT;
        CREATE INDEX member_conversation ON member (conversation, userID);

        -- endedAt, rev, isVoluntary, name, avatar: the state of the conversation when the membership ended. endedAt is
        -- NULL if the span is open, or ended before schema 11.
        CREATE TABLE span (
            conversation INTEGER NOT NULL,
            userID TEXT NOT NULL,
            joined INTEGER NOT NULL,
            "left" INTEGER,
            endedAt INTEGER,
            rev INTEGER NOT NULL DEFAULT 0,
            isVoluntary INTEGER NOT NULL DEFAULT 0 CHECK (isVoluntary IN (0, 1)),
            name TEXT,
            avatar TEXT,
            PRIMARY KEY (conversation, userID, joined)
        ) WITHOUT ROWID, STRICT;

        -- Users with data in a conversation without a member row, mostly in rooms.
        CREATE TABLE participant (
            userID TEXT NOT NULL,
            conversation INTEGER NOT NULL,
            PRIMARY KEY (userID, conversation)
        ) WITHOUT ROWID, STRICT;

        -- The read position that the peer of a direct conversation may see: at most two rows each.
        CREATE TABLE receipt (
            conversation INTEGER NOT NULL,
            userID TEXT NOT NULL,
            seq INTEGER NOT NULL,
            deliveredSeq INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (conversation, userID)
        ) WITHOUT ROWID, STRICT;

        CREATE TABLE invitation (
            conversation INTEGER NOT NULL,
            userID TEXT NOT NULL,
            inviter TEXT NOT NULL,
            at REAL NOT NULL,
            until REAL,
            PRIMARY KEY (conversation, userID)
        ) WITHOUT ROWID, STRICT;
        CREATE INDEX invitation_user ON invitation (userID, conversation);
        CREATE INDEX invitation_inviter ON invitation (inviter);
        CREATE INDEX invitation_until ON invitation (until) WHERE until IS NOT NULL;

        CREATE TABLE presence (
            userID TEXT NOT NULL PRIMARY KEY,
            lastSeen REAL NOT NULL
        ) WITHOUT ROWID, STRICT;

        CREATE TABLE threadState (
            conversation INTEGER NOT NULL,
            userID TEXT NOT NULL,
            thread BLOB NOT NULL,
            following INTEGER NOT NULL CHECK (following BETWEEN 0 AND 2),
            readSeq INTEGER NOT NULL,
            readCountedIndex INTEGER NOT NULL,
            userRev INTEGER NOT NULL,
            PRIMARY KEY (conversation, userID, thread)
        ) WITHOUT ROWID, STRICT;
        CREATE INDEX threadState_thread ON threadState (conversation, thread);

        -- The conversation is named from the user's point of view, and need not exist. body is NULL for a deleted
        -- draft.
        CREATE TABLE draft (
            userID TEXT NOT NULL,
            conversation TEXT NOT NULL,
            body TEXT,
            rev INTEGER NOT NULL,
            PRIMARY KEY (userID, conversation)
        ) WITHOUT ROWID, STRICT;
        CREATE INDEX draft_rev ON draft (userID, rev);
        CREATE INDEX draft_conversation ON draft (conversation);

        -- The conversation is named from the user's point of view. failure is the code of the error with which the
        -- message was refused.
        CREATE TABLE scheduled (
            userID TEXT NOT NULL,
            id BLOB NOT NULL,
            conversation TEXT NOT NULL,
            sendAt REAL NOT NULL,
            dueAt REAL NOT NULL,
            body TEXT NOT NULL,
            failure TEXT,
            PRIMARY KEY (userID, id)
        ) WITHOUT ROWID, STRICT;
        CREATE INDEX scheduled_due ON scheduled (dueAt) WHERE failure IS NULL;
        CREATE INDEX scheduled_conversation ON scheduled (conversation);

        CREATE TABLE cancelled (
            userID TEXT NOT NULL,
            id BLOB NOT NULL,
            digest INTEGER NOT NULL,
            at REAL NOT NULL,
            PRIMARY KEY (userID, id)
        ) WITHOUT ROWID, STRICT;
        CREATE INDEX cancelled_at ON cancelled (userID, at, id);
        """

    /// The tables of files, of references from messages to files, and of uploads.
    private static let mediaTables = """
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
            unusedSince REAL,
            thumbnailAt INTEGER NOT NULL DEFAULT 0,
            neededUntil REAL
        ) WITHOUT ROWID, STRICT;
        CREATE INDEX media_blob ON media (blob);
        CREATE INDEX media_thumbnail ON media (thumbnail) WHERE thumbnail IS NOT NULL;
        CREATE INDEX media_createdAt ON media (createdAt);
        CREATE INDEX media_unusedSince ON media (unusedSince) WHERE unusedSince IS NOT NULL;
        CREATE INDEX media_owner ON media (owner, id);

        CREATE TABLE mediaUse (
            media BLOB NOT NULL,
            conversation INTEGER NOT NULL,
            seq INTEGER NOT NULL,
            PRIMARY KEY (media, conversation, seq)
        ) WITHOUT ROWID, STRICT;
        CREATE UNIQUE INDEX mediaUse_place ON mediaUse (conversation, seq, media);

        -- state 0: in progress; 1: completed, and the answer is kept for retries.
        CREATE TABLE upload (
            id TEXT NOT NULL PRIMARY KEY,
            media BLOB NOT NULL,
            owner TEXT NOT NULL,
            conversation TEXT NOT NULL,
            type TEXT NOT NULL,
            name TEXT,
            length INTEGER,
            expected BLOB,
            received INTEGER NOT NULL,
            state INTEGER NOT NULL CHECK (state IN (0, 1)),
            touchedAt REAL NOT NULL
        ) WITHOUT ROWID, STRICT;
        CREATE INDEX upload_owner ON upload (owner) WHERE state = 0;
        CREATE INDEX upload_touchedAt ON upload (touchedAt);
        """

    /// The tables of moderation, limits, and erasures.
    private static let moderationTables = """
        CREATE TABLE block (
            userID TEXT NOT NULL,
            blocked TEXT NOT NULL,
            PRIMARY KEY (userID, blocked)
        ) WITHOUT ROWID, STRICT;
        CREATE INDEX block_blocked ON block (blocked, userID);

        -- until: infinity for a permanent mute.
        CREATE TABLE mute (
            conversation INTEGER NOT NULL,
            userID TEXT NOT NULL,
            until REAL NOT NULL,
            PRIMARY KEY (conversation, userID)
        ) WITHOUT ROWID, STRICT;

        -- conversation 0: the server. until: infinity for a permanent ban.
        CREATE TABLE ban (
            conversation INTEGER NOT NULL,
            userID TEXT NOT NULL,
            until REAL NOT NULL,
            by TEXT NOT NULL,
            reason TEXT,
            at REAL NOT NULL,
            PRIMARY KEY (conversation, userID)
        ) WITHOUT ROWID, STRICT;
        CREATE INDEX ban_until ON ban (until);

        -- Numbers are never reused, because people refer to reports by them.
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
            userID TEXT NOT NULL,
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

        -- conversation 0: none. keyID, issuedAt: the token of the actor.
        CREATE TABLE audit (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            at REAL NOT NULL,
            actor TEXT NOT NULL,
            keyID TEXT,
            issuedAt REAL,
            action TEXT NOT NULL,
            userID TEXT,
            conversation INTEGER NOT NULL,
            detail TEXT
        ) STRICT;
        CREATE INDEX audit_actor ON audit (actor, number);
        CREATE INDEX audit_user ON audit (userID, number) WHERE userID IS NOT NULL;
        CREATE INDEX audit_conversation ON audit (conversation, number);
        CREATE INDEX audit_time ON audit (at);

        -- One row for each user, replaced on the next day. day: days since 1970 in UTC.
        CREATE TABLE usage (
            userID TEXT NOT NULL PRIMARY KEY,
            day INTEGER NOT NULL,
            groups INTEGER NOT NULL,
            members INTEGER NOT NULL,
            fileBytes INTEGER NOT NULL,
            messageBytes INTEGER NOT NULL
        ) WITHOUT ROWID, STRICT;
        CREATE INDEX usage_day ON usage (day);
        """

    /// The tables of webhooks.
    private static let webhookTables = """
        -- Numbers are never reused, because receivers identify deliveries by them. webhook: before schema 16, the only
        -- webhook for events was the setting webhooks.after.
        CREATE TABLE delivery (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            conversation INTEGER NOT NULL,
            body TEXT NOT NULL,
            webhook TEXT NOT NULL DEFAULT 'after',
            event TEXT,
            seq INTEGER,
            original INTEGER,
            attempts INTEGER NOT NULL DEFAULT 0,
            attemptedAt REAL,
            error TEXT,
            isDelivered INTEGER NOT NULL DEFAULT 0 CHECK (isDelivered IN (0, 1))
        ) STRICT;
        CREATE INDEX delivery_pending ON delivery (webhook, conversation, number) WHERE isDelivered = 0;
        CREATE INDEX delivery_webhook ON delivery (webhook, number);
        CREATE INDEX delivery_time ON delivery (attemptedAt) WHERE isDelivered = 1;
        CREATE INDEX delivery_content ON delivery (conversation, seq) WHERE seq IS NOT NULL;
        CREATE INDEX delivery_logged ON delivery (webhook, number) WHERE isDelivered = 1;

        -- The conversation is named from the user's point of view.
        CREATE TABLE incomingWebhook (
            id TEXT NOT NULL PRIMARY KEY,
            conversation TEXT NOT NULL,
            userID TEXT NOT NULL,
            secretHash BLOB NOT NULL CHECK (length(secretHash) = 32),
            createdAt REAL NOT NULL
        ) WITHOUT ROWID, STRICT;
        CREATE INDEX incomingWebhook_user ON incomingWebhook (userID, id);
        CREATE INDEX incomingWebhook_conversation ON incomingWebhook (conversation);
        """

    /// The tables of push preferences, devices, queued pushes and retries.
    private static let pushTables = """
        CREATE TABLE pushUser (
            userID TEXT NOT NULL PRIMARY KEY,
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
            userID TEXT NOT NULL,
            device TEXT NOT NULL,
            service TEXT NOT NULL,
            token TEXT NOT NULL,
            topic TEXT,
            language TEXT,
            isDevelopment INTEGER NOT NULL CHECK (isDevelopment IN (0, 1)),
            p256dh TEXT,
            auth TEXT,
            registeredAt REAL NOT NULL,
            PRIMARY KEY (userID, device)
        ) WITHOUT ROWID, STRICT;
        CREATE UNIQUE INDEX pushDevice_token ON pushDevice (service, token);

        -- The users that a push of a level reaches. level 2: all messages; 1: mentions; users without pushes have no
        -- row.
        CREATE TABLE pushLevel (
            conversation INTEGER NOT NULL,
            level INTEGER NOT NULL CHECK (level IN (1, 2)),
            userID TEXT NOT NULL,
            PRIMARY KEY (conversation, level, userID)
        ) WITHOUT ROWID, STRICT;
        -- This index has the name that the table had in schema 23.
        CREATE INDEX pushReach_user ON pushLevel (userID, conversation);

        -- Numbers are never reused, because a walk stores the number at which it ends.
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
            userID TEXT NOT NULL,
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
        CREATE INDEX pushRetry_user ON pushRetry (userID);
        CREATE INDEX pushRetry_conversation ON pushRetry (conversation);
        """
}
