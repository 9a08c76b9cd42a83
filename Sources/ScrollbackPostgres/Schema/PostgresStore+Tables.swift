extension PostgresStore {
    /// The tables of schema 1.
    ///
    /// - Each primary key starts with the columns that queries specify, so that every query is a seek.
    /// - Texts that may be encrypted, and texts that may contain U+0000, are UTF-8 in columns of the type `BYTEA`.
    /// - Names are compared by bytes (`COLLATE "C"`). In keys, an empty string stands for an absent name.
    /// - Times are seconds since 2001 (`DOUBLE PRECISION`), without loss of precision. Timetokens and other unsigned
    ///   numbers are the bits of a signed `BIGINT`.
    /// - Pages of rows that change often are filled to 70 %, and no index has a column that changes with each message.
    ///   PostgreSQL then updates a row within its page, and no index changes. This is why `lastCommit` has no index.
    static let createTables = """
        -- The one row of the store.
        CREATE TABLE storeState (
            isOnly BOOLEAN NOT NULL PRIMARY KEY DEFAULT true CHECK (isOnly),
            generation BIGINT NOT NULL,
            lastCommit BIGINT NOT NULL,
            newest BIGINT NOT NULL,
            server UUID
        ) WITH (fillfactor = 70);

        CREATE TABLE setting (
            name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
            value BYTEA NOT NULL
        );

        CREATE TABLE incarnation (
            number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            id UUID NOT NULL UNIQUE,
            generation BIGINT NOT NULL,
            firstCommit BIGINT NOT NULL,
            newest BIGINT NOT NULL,
            lostAfter BIGINT
        );

        -- state 1: deactivated; 2: being erased; 3: erased. isBanned: a ban from the server may exist.
        CREATE TABLE person (
            id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
            rev BIGINT NOT NULL,
            revokedAt DOUBLE PRECISION,
            state BIGINT NOT NULL CHECK (state BETWEEN 0 AND 3),
            isBanned BOOLEAN NOT NULL,
            isInvitationOnly BOOLEAN NOT NULL,
            name BYTEA,
            avatar BYTEA,
            metadata BYTEA
        ) WITH (fillfactor = 70);
        CREATE INDEX person_state ON person (state, id) WHERE state <> 0;

        -- blocks 1: the first user of a direct conversation has blocked the second; 2: the reverse.
        -- flags 1: a user was banned from it; 2: a user of a direct conversation is missing.
        CREATE TABLE conversation (
            number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            head BIGINT NOT NULL,
            countedIndex BIGINT NOT NULL,
            timetoken BIGINT NOT NULL,
            lastCommit BIGINT NOT NULL,
            rev BIGINT NOT NULL,
            firstSeq BIGINT NOT NULL,
            floorCountedIndex BIGINT NOT NULL,
            floorTime BIGINT NOT NULL,
            sweptSeq BIGINT NOT NULL,
            changeFloor BIGINT NOT NULL,
            retention BIGINT,
            view BIGINT NOT NULL,
            salt BIGINT NOT NULL,
            createdAt DOUBLE PRECISION NOT NULL,
            capacity BIGINT,
            blocks BIGINT NOT NULL CHECK (blocks BETWEEN 0 AND 3),
            flags BIGINT NOT NULL,
            recentSeq BIGINT NOT NULL,
            recentTime BIGINT NOT NULL,
            namedAt BIGINT NOT NULL,
            hasDeletedRanges BOOLEAN NOT NULL,
            hasMutes BOOLEAN NOT NULL,
            isPrivate BOOLEAN NOT NULL,
            isDeleted BOOLEAN NOT NULL,
            isFrozen BOOLEAN NOT NULL,
            visibility TEXT COLLATE "C" NOT NULL,
            kind TEXT COLLATE "C" NOT NULL,
            target TEXT COLLATE "C" NOT NULL,
            part TEXT COLLATE "C" NOT NULL,
            name BYTEA,
            avatar BYTEA,
            metadata BYTEA,
            UNIQUE (kind, target, part)
        ) WITH (fillfactor = 70);

        CREATE TABLE message (
            conversation BIGINT NOT NULL,
            seq BIGINT NOT NULL,
            countedIndex BIGINT NOT NULL,
            timetoken BIGINT NOT NULL,
            flags BIGINT NOT NULL,
            digest BIGINT NOT NULL,
            rev BIGINT NOT NULL,
            editedAt DOUBLE PRECISION,
            replyCount BIGINT,
            lastReply BIGINT,
            id UUID NOT NULL,
            replyTo UUID,
            thread UUID,
            sender TEXT COLLATE "C" NOT NULL,
            type BYTEA NOT NULL,
            customType BYTEA,
            mentions BYTEA,
            actions BYTEA,
            metadata BYTEA,
            extra BYTEA,
            push BYTEA,
            content BYTEA,
            UNIQUE (conversation, seq)
        );
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
            conversation BIGINT NOT NULL,
            id UUID NOT NULL,
            sender TEXT COLLATE "C" NOT NULL,
            digest BIGINT NOT NULL,
            seq BIGINT NOT NULL,
            countedIndex BIGINT NOT NULL,
            timetoken BIGINT NOT NULL,
            PRIMARY KEY (conversation, id)
        );
        CREATE INDEX messageKey_timetoken ON messageKey (timetoken);

        -- The change log: the sequence numbers that each change affected.
        CREATE TABLE change (
            conversation BIGINT NOT NULL,
            rev BIGINT NOT NULL,
            kind BIGINT NOT NULL,
            lower BIGINT NOT NULL,
            upper BIGINT NOT NULL,
            at BIGINT NOT NULL,
            operation UUID,
            digest BIGINT NOT NULL,
            answer BIGINT NOT NULL,
            PRIMARY KEY (conversation, rev)
        );
        CREATE UNIQUE INDEX change_operation ON change (operation, conversation) WHERE operation IS NOT NULL;

        -- No index has the value, because equal values that are encrypted differ.
        CREATE TABLE action (
            conversation BIGINT NOT NULL,
            seq BIGINT NOT NULL,
            timetoken BIGINT NOT NULL,
            sender TEXT COLLATE "C" NOT NULL,
            type BYTEA NOT NULL,
            value BYTEA NOT NULL,
            PRIMARY KEY (conversation, seq, timetoken)
        );
        CREATE INDEX action_sender ON action (conversation, seq, sender, type);
        CREATE UNIQUE INDEX action_timetoken ON action (conversation, timetoken);
        CREATE INDEX action_pin ON action (conversation, seq) WHERE type = 'pin';

        -- By user first: listing reads all rows of a user, which is more frequent than reading all members of a
        -- conversation.
        CREATE TABLE member (
            userID TEXT COLLATE "C" NOT NULL,
            conversation BIGINT NOT NULL,
            standing BIGINT NOT NULL CHECK (standing IN (0, 1, 2)),
            joinSeq BIGINT NOT NULL,
            joinCountedIndex BIGINT NOT NULL,
            readSeq BIGINT NOT NULL,
            readCountedIndex BIGINT NOT NULL,
            clearSeq BIGINT NOT NULL,
            clearCountedIndex BIGINT NOT NULL,
            removedSeq BIGINT NOT NULL,
            newDeviceFloor BIGINT NOT NULL,
            markedRev BIGINT NOT NULL,
            view BIGINT NOT NULL,
            userRev BIGINT NOT NULL,
            isMuted BOOLEAN NOT NULL,
            isPinned BOOLEAN NOT NULL,
            isMarkedUnread BOOLEAN NOT NULL,
            hasDeletedRanges BOOLEAN NOT NULL,
            role TEXT COLLATE "C" NOT NULL,
            level TEXT COLLATE "C",
            PRIMARY KEY (userID, conversation)
        ) WITH (fillfactor = 70);
        CREATE INDEX member_conversation ON member (conversation, userID);

        -- endedAt, rev, isVoluntary, name, avatar: the state of the conversation when the membership ended.
        CREATE TABLE span (
            conversation BIGINT NOT NULL,
            userID TEXT COLLATE "C" NOT NULL,
            joined BIGINT NOT NULL,
            "left" BIGINT,
            endedAt BIGINT,
            rev BIGINT NOT NULL,
            isVoluntary BOOLEAN NOT NULL,
            name BYTEA,
            avatar BYTEA,
            PRIMARY KEY (conversation, userID, joined)
        );

        -- Users with data in a conversation without a member row, mostly in rooms.
        CREATE TABLE participant (
            userID TEXT COLLATE "C" NOT NULL,
            conversation BIGINT NOT NULL,
            PRIMARY KEY (userID, conversation)
        );

        -- Sets of numbers as bits. kind 0: counted indexes that no user counts; 1: sequence numbers of messages deleted
        -- one by one; 2: counted indexes that one user does not count; 3: counted indexes of the replies in a thread,
        -- whose ID is in the column userID.
        CREATE TABLE bits (
            conversation BIGINT NOT NULL,
            kind BIGINT NOT NULL,
            userID TEXT COLLATE "C" NOT NULL,
            block BIGINT NOT NULL,
            words BYTEA NOT NULL CHECK (length(words) = 128),
            PRIMARY KEY (conversation, kind, userID, block)
        ) WITH (fillfactor = 70);

        -- Deleted ranges. userID '': for everyone.
        CREATE TABLE deletedRange (
            conversation BIGINT NOT NULL,
            userID TEXT COLLATE "C" NOT NULL,
            lower BIGINT NOT NULL,
            upper BIGINT NOT NULL CHECK (lower <= upper),
            userRev BIGINT NOT NULL,
            holdsMessages BOOLEAN NOT NULL,
            PRIMARY KEY (conversation, userID, lower)
        );

        -- userID '': everyone.
        CREATE TABLE mention (
            conversation BIGINT NOT NULL,
            userID TEXT COLLATE "C" NOT NULL,
            seq BIGINT NOT NULL,
            sender TEXT COLLATE "C" NOT NULL,
            PRIMARY KEY (conversation, userID, seq)
        );

        CREATE TABLE threadState (
            conversation BIGINT NOT NULL,
            userID TEXT COLLATE "C" NOT NULL,
            thread UUID NOT NULL,
            following BIGINT NOT NULL CHECK (following IN (0, 1, 2)),
            readSeq BIGINT NOT NULL,
            readCountedIndex BIGINT NOT NULL,
            userRev BIGINT NOT NULL,
            PRIMARY KEY (conversation, userID, thread)
        ) WITH (fillfactor = 70);
        CREATE INDEX threadState_thread ON threadState (conversation, thread);

        -- The conversation is named from the user's point of view, and need not exist. body is NULL for a deleted
        -- draft.
        CREATE TABLE draft (
            userID TEXT COLLATE "C" NOT NULL,
            conversation TEXT COLLATE "C" NOT NULL,
            body BYTEA,
            rev BIGINT NOT NULL,
            PRIMARY KEY (userID, conversation)
        );
        CREATE INDEX draft_rev ON draft (userID, rev);
        CREATE INDEX draft_conversation ON draft (conversation);

        -- The conversation is named from the user's point of view. failure is the code of the error with which the
        -- message was refused.
        CREATE TABLE scheduled (
            userID TEXT COLLATE "C" NOT NULL,
            id UUID NOT NULL,
            conversation TEXT COLLATE "C" NOT NULL,
            sendAt DOUBLE PRECISION NOT NULL,
            dueAt DOUBLE PRECISION NOT NULL,
            body BYTEA NOT NULL,
            failure TEXT COLLATE "C",
            PRIMARY KEY (userID, id)
        );
        CREATE INDEX scheduled_due ON scheduled (dueAt) WHERE failure IS NULL;
        CREATE INDEX scheduled_conversation ON scheduled (conversation);

        CREATE TABLE media (
            id UUID NOT NULL PRIMARY KEY,
            owner TEXT COLLATE "C" NOT NULL,
            conversation TEXT COLLATE "C" NOT NULL,
            type BYTEA NOT NULL,
            name BYTEA,
            mediaType TEXT COLLATE "C" NOT NULL,
            size BIGINT NOT NULL,
            blob BYTEA NOT NULL CHECK (length(blob) = 32),
            width BIGINT,
            height BIGINT,
            thumbnail BYTEA CHECK (length(thumbnail) = 32),
            thumbnailSize BIGINT,
            thumbnailType TEXT COLLATE "C",
            thumbnailWidth BIGINT,
            thumbnailHeight BIGINT,
            thumbnailAt BIGINT NOT NULL,
            createdAt DOUBLE PRECISION NOT NULL,
            unusedSince DOUBLE PRECISION,
            neededUntil DOUBLE PRECISION
        );
        CREATE INDEX media_owner ON media (owner, id);
        CREATE INDEX media_blob ON media (blob);
        CREATE INDEX media_thumbnail ON media (thumbnail) WHERE thumbnail IS NOT NULL;
        CREATE INDEX media_createdAt ON media (createdAt);
        CREATE INDEX media_unusedSince ON media (unusedSince) WHERE unusedSince IS NOT NULL;

        CREATE TABLE mediaUse (
            media UUID NOT NULL,
            conversation BIGINT NOT NULL,
            seq BIGINT NOT NULL,
            PRIMARY KEY (media, conversation, seq)
        );
        CREATE UNIQUE INDEX mediaUse_place ON mediaUse (conversation, seq, media);

        -- state 0: in progress; 1: completed, and the answer is kept for retries.
        CREATE TABLE upload (
            id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
            media UUID NOT NULL,
            owner TEXT COLLATE "C" NOT NULL,
            conversation TEXT COLLATE "C" NOT NULL,
            type BYTEA NOT NULL,
            name BYTEA,
            length BIGINT,
            expected BYTEA,
            received BIGINT NOT NULL,
            state BIGINT NOT NULL CHECK (state IN (0, 1)),
            touchedAt DOUBLE PRECISION NOT NULL
        ) WITH (fillfactor = 70);
        CREATE INDEX upload_owner ON upload (owner) WHERE state = 0;
        CREATE INDEX upload_touchedAt ON upload (touchedAt);

        -- One row for each user, replaced on the next day. day: days since 1970 in UTC.
        CREATE TABLE usage (
            userID TEXT COLLATE "C" NOT NULL PRIMARY KEY,
            day BIGINT NOT NULL,
            groups BIGINT NOT NULL,
            members BIGINT NOT NULL,
            fileBytes BIGINT NOT NULL,
            messageBytes BIGINT NOT NULL
        ) WITH (fillfactor = 70);
        CREATE INDEX usage_day ON usage (day);

        CREATE TABLE block (
            userID TEXT COLLATE "C" NOT NULL,
            blocked TEXT COLLATE "C" NOT NULL,
            PRIMARY KEY (userID, blocked)
        );
        CREATE INDEX block_blocked ON block (blocked, userID);

        -- until: infinity for a permanent mute.
        CREATE TABLE mute (
            conversation BIGINT NOT NULL,
            userID TEXT COLLATE "C" NOT NULL,
            until DOUBLE PRECISION NOT NULL,
            PRIMARY KEY (conversation, userID)
        );

        -- conversation 0: the server. until: infinity for a permanent ban.
        CREATE TABLE ban (
            conversation BIGINT NOT NULL,
            userID TEXT COLLATE "C" NOT NULL,
            until DOUBLE PRECISION NOT NULL,
            by TEXT COLLATE "C" NOT NULL,
            reason BYTEA,
            at DOUBLE PRECISION NOT NULL,
            PRIMARY KEY (conversation, userID)
        );
        CREATE INDEX ban_until ON ban (until);

        CREATE TABLE report (
            number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            conversation BIGINT NOT NULL,
            message UUID NOT NULL,
            seq BIGINT NOT NULL,
            sender TEXT COLLATE "C" NOT NULL,
            type BYTEA NOT NULL,
            content BYTEA,
            timetoken BIGINT NOT NULL,
            reporter TEXT COLLATE "C" NOT NULL,
            reason BYTEA NOT NULL,
            text BYTEA,
            at DOUBLE PRECISION NOT NULL,
            isOpen BOOLEAN NOT NULL,
            note BYTEA,
            closedBy TEXT COLLATE "C",
            closedAt DOUBLE PRECISION
        );
        CREATE UNIQUE INDEX report_message ON report (message, conversation, reporter);
        CREATE INDEX report_state ON report (isOpen, number);
        CREATE INDEX report_reporter ON report (reporter, number);
        CREATE INDEX report_sender ON report (sender, number);

        CREATE TABLE erasure (
            number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            id UUID NOT NULL UNIQUE,
            userID TEXT COLLATE "C" NOT NULL,
            messages BIGINT NOT NULL CHECK (messages BETWEEN 0 AND 2),
            replacement TEXT COLLATE "C" NOT NULL,
            stage BIGINT NOT NULL,
            through BIGINT NOT NULL,
            throughSeq BIGINT NOT NULL,
            conversationCount BIGINT NOT NULL,
            messageCount BIGINT NOT NULL,
            fileCount BIGINT NOT NULL,
            createdAt DOUBLE PRECISION NOT NULL,
            endedAt DOUBLE PRECISION,
            error BYTEA
        );
        CREATE INDEX erasure_open ON erasure (number) WHERE endedAt IS NULL;

        -- conversation 0: none. keyID, issuedAt: the token of the actor.
        CREATE TABLE audit (
            number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            at DOUBLE PRECISION NOT NULL,
            actor TEXT COLLATE "C" NOT NULL,
            keyID TEXT COLLATE "C",
            issuedAt DOUBLE PRECISION,
            action TEXT COLLATE "C" NOT NULL,
            userID TEXT COLLATE "C",
            conversation BIGINT NOT NULL,
            detail BYTEA
        );
        CREATE INDEX audit_actor ON audit (actor, number);
        CREATE INDEX audit_user ON audit (userID, number) WHERE userID IS NOT NULL;
        CREATE INDEX audit_conversation ON audit (conversation, number);
        CREATE INDEX audit_time ON audit (at);

        -- The read position that the peer of a direct conversation may see: at most two rows each.
        CREATE TABLE receipt (
            conversation BIGINT NOT NULL,
            userID TEXT COLLATE "C" NOT NULL,
            seq BIGINT NOT NULL,
            PRIMARY KEY (conversation, userID)
        ) WITH (fillfactor = 70);

        CREATE TABLE invitation (
            conversation BIGINT NOT NULL,
            userID TEXT COLLATE "C" NOT NULL,
            inviter TEXT COLLATE "C" NOT NULL,
            at DOUBLE PRECISION NOT NULL,
            until DOUBLE PRECISION,
            PRIMARY KEY (conversation, userID)
        );
        CREATE INDEX invitation_user ON invitation (userID, conversation);
        CREATE INDEX invitation_inviter ON invitation (inviter, conversation, userID);
        CREATE INDEX invitation_until ON invitation (until) WHERE until IS NOT NULL;

        CREATE TABLE presence (
            userID TEXT COLLATE "C" NOT NULL PRIMARY KEY,
            lastSeen DOUBLE PRECISION NOT NULL
        ) WITH (fillfactor = 70);

        -- Numbers are never reused, because receivers identify deliveries by them.
        CREATE TABLE delivery (
            number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            webhook TEXT COLLATE "C" NOT NULL,
            conversation BIGINT NOT NULL,
            event TEXT COLLATE "C",
            seq BIGINT,
            original BIGINT,
            attempts BIGINT NOT NULL DEFAULT 0,
            attemptedAt DOUBLE PRECISION,
            error BYTEA,
            isDelivered BOOLEAN NOT NULL DEFAULT false,
            body BYTEA NOT NULL
        );
        CREATE INDEX delivery_pending ON delivery (webhook, conversation, number) WHERE NOT isDelivered;
        CREATE INDEX delivery_webhook ON delivery (webhook, number);
        CREATE INDEX delivery_content ON delivery (conversation, seq) WHERE seq IS NOT NULL;
        CREATE INDEX delivery_logged ON delivery (webhook, number) WHERE isDelivered;
        CREATE INDEX delivery_time ON delivery (attemptedAt) WHERE isDelivered;

        CREATE TABLE pushUser (
            userID TEXT COLLATE "C" NOT NULL PRIMARY KEY,
            language TEXT COLLATE "C",
            showsDetail BOOLEAN NOT NULL,
            level TEXT COLLATE "C",
            quietFrom TEXT COLLATE "C",
            quietTo TEXT COLLATE "C",
            quietZone TEXT COLLATE "C",
            quietAllowsMentions BOOLEAN NOT NULL,
            deviceCount BIGINT NOT NULL
        );

        CREATE TABLE pushDevice (
            userID TEXT COLLATE "C" NOT NULL,
            device TEXT COLLATE "C" NOT NULL,
            service TEXT COLLATE "C" NOT NULL,
            token BYTEA NOT NULL,
            topic BYTEA,
            language TEXT COLLATE "C",
            isDevelopment BOOLEAN NOT NULL,
            p256dh BYTEA,
            auth BYTEA,
            registeredAt DOUBLE PRECISION NOT NULL,
            PRIMARY KEY (userID, device)
        );
        CREATE UNIQUE INDEX pushDevice_token ON pushDevice (service, token);

        -- The users that a push of a level reaches. level 2: all messages; 1: mentions; users without pushes have no
        -- row.
        CREATE TABLE pushLevel (
            conversation BIGINT NOT NULL,
            level BIGINT NOT NULL CHECK (level IN (1, 2)),
            userID TEXT COLLATE "C" NOT NULL,
            PRIMARY KEY (conversation, level, userID)
        );
        CREATE INDEX pushLevel_user ON pushLevel (userID, conversation);

        -- Numbers are never reused, because a walk stores the number at which it ends.
        CREATE TABLE push (
            number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            conversation BIGINT NOT NULL,
            kind BIGINT NOT NULL,
            seq BIGINT NOT NULL,
            body BYTEA
        );
        CREATE INDEX push_conversation ON push (conversation, number);

        CREATE TABLE pushWalk (
            conversation BIGINT NOT NULL PRIMARY KEY,
            through BIGINT NOT NULL,
            after TEXT COLLATE "C"
        ) WITH (fillfactor = 70);

        CREATE TABLE pushRetry (
            number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            userID TEXT COLLATE "C" NOT NULL,
            device TEXT COLLATE "C" NOT NULL,
            push BIGINT NOT NULL,
            conversation BIGINT NOT NULL,
            kind BIGINT NOT NULL,
            seq BIGINT NOT NULL,
            body BYTEA,
            attempts BIGINT NOT NULL,
            notBefore DOUBLE PRECISION NOT NULL,
            firstTriedAt DOUBLE PRECISION NOT NULL
        ) WITH (fillfactor = 70);
        CREATE INDEX pushRetry_time ON pushRetry (notBefore, number);
        CREATE INDEX pushRetry_user ON pushRetry (userID);
        CREATE INDEX pushRetry_conversation ON pushRetry (conversation);
        """

    /// What schema 2 adds: the notes of commits, for several nodes.
    static let createNotes = """
        CREATE TABLE commitNote (
            number BIGINT NOT NULL PRIMARY KEY,
            id BIGINT NOT NULL,
            at DOUBLE PRECISION NOT NULL,
            body BYTEA NOT NULL
        );
        """

    /// What schema 3 adds: whether rows of another store are still being copied.
    static let addIncompleteCopies = """
        ALTER TABLE storeState ADD COLUMN isIncomplete BOOLEAN NOT NULL DEFAULT false;
        """

    /// What schema 4 changes: notes are deleted after minutes, so it is not worth compressing them.
    static let storeNotesUncompressed = """
        ALTER TABLE commitNote ALTER COLUMN body SET STORAGE EXTERNAL;
        """

    /// What schema 5 adds: the sequence number through which a user's devices have stored the messages.
    static let addDeliveredPositions = """
        ALTER TABLE receipt ADD COLUMN deliveredSeq BIGINT NOT NULL DEFAULT 0;
        """

    /// What schema 6 adds: incoming webhooks.
    static let createIncomingWebhooks = """
        -- The conversation is named from the user's point of view.
        CREATE TABLE incomingWebhook (
            id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
            conversation TEXT COLLATE "C" NOT NULL,
            userID TEXT COLLATE "C" NOT NULL,
            secretHash BYTEA NOT NULL CHECK (length(secretHash) = 32),
            createdAt DOUBLE PRECISION NOT NULL
        );
        CREATE INDEX incomingWebhook_user ON incomingWebhook (userID, id);
        CREATE INDEX incomingWebhook_conversation ON incomingWebhook (conversation);
        """

    /// What schema 7 adds: the digests of scheduled messages that their users cancelled.
    static let createCancelled = """
        CREATE TABLE cancelled (
            userID TEXT COLLATE "C" NOT NULL,
            id UUID NOT NULL,
            digest BIGINT NOT NULL,
            at DOUBLE PRECISION NOT NULL,
            PRIMARY KEY (userID, id)
        );
        CREATE INDEX cancelled_at ON cancelled (userID, at, id);
        """

    /// What schema 8 adds: the oldest schema whose servers can use the tables.
    static let addOldestUser = """
        ALTER TABLE storeState ADD COLUMN oldestSchema BIGINT NOT NULL DEFAULT 0;
        """
}
