/// The statements of a batch of sends in steady state, as a script of `pgbench` with two round trips.
///
/// They are those of `ScrollbackPostgres`. Where a node passes arrays, a query computes the same rows from the number
/// of the batch, `:n`. The variable `known` has the number of the last commit.
struct RawStatements {
    let targets: SendTargets
    let batch: Int
    /// The number of the first conversation.
    let firstNumber: Int
    /// The size of the note for the other nodes.
    let noteBytes: Int

    private var conversations: Int { targets.direct ?? 1 }
    private var isGroup: Bool { targets.direct == nil }
    /// The number of different conversations in a batch.
    private var distinctConversations: Int { min(batch, conversations) }
    /// The number of different senders with their conversation in a batch.
    private var distinctMembers: Int { min(batch, isGroup ? targets.senders : conversations) }

    var text: String {
        """
        \\startpipeline
        BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
        SELECT generation, lastCommit, newest, server FROM storeState FOR NO KEY UPDATE;
        SELECT extract(epoch FROM clock_timestamp())::double precision - 978307200.0;
        \(notes);
        \(conversationRows);
        \(members);
        \(messages);
        \(keys);
        \\endpipeline
        \\startpipeline
        \(insertMessages);
        \(updateConversations);
        \(isGroup ? putBits : putMembers);
        INSERT INTO commitNote (number, id, at, body)
            VALUES (:known::bigint + 1, :n::bigint, 0, decode(repeat('78', \(noteBytes)), 'hex'));
        UPDATE storeState SET (generation, lastCommit, newest, server)
            = (0, :known::bigint + 1, 17000000000000000 + :n::bigint * \(batch), NULL::uuid);
        COMMIT;
        \\endpipeline
        \\set n :n + 1
        \\set known :known + 1

        """
    }

    // MARK: Rows

    /// Returns the last sends of a batch as `e`, with the values that a node passes.
    private func sends(_ count: Int) -> String {
        let names =
            isGroup
            ? "'group', 'all', ''"
            : "'direct', 'reader' || ((sender + chat / \(targets.senders)) % \(targets.senders)), 'user' || sender"
        return """
            (
                SELECT \(names), 'user' || sender, \(firstNumber) + chat, 1000001 + place / \(conversations), place,
                    ('f0000000-0000-7000-8000-' || lpad(to_hex(place), 12, '0'))::uuid
                FROM (
                    SELECT place, place % \(conversations) AS chat,
                        \(isGroup ? "place" : "place % \(conversations)") % \(targets.senders) AS sender
                    FROM (
                        SELECT :n::bigint * \(batch) + i AS place
                        FROM generate_series(\(batch - count), \(batch - 1)) AS i
                    ) AS places
                ) AS chats
            ) AS e (kind, target, part, userID, number, seq, place, id)
            """
    }

    private func prefixed(_ columns: String, _ table: String) -> String {
        columns.split(separator: ", ").map { "\(table).\($0)" }.joined(separator: ", ")
    }

    // MARK: Reads

    private var notes: String {
        """
        SELECT number, id, body, (SELECT max(number) FROM commitNote)
        FROM (
            SELECT number, id, body, sum(octet_length(body)) OVER (ORDER BY number) - octet_length(body) AS bytesBefore
            FROM (
                SELECT number, id, CASE WHEN number = :known::bigint THEN '' ELSE body END AS body
                FROM commitNote WHERE number >= :known::bigint ORDER BY number LIMIT 1000
            ) AS notes
        ) AS sizes
        WHERE bytesBefore < 4194304
        ORDER BY number
        """
    }

    private static let changedOfConversation = """
        name, avatar, metadata, visibility, isPrivate, isDeleted, createdAt, salt, head, countedIndex, timetoken, rev, \
        firstSeq, floorCountedIndex, floorTime, sweptSeq, changeFloor, retention, hasDeletedRanges, view, isFrozen, \
        capacity, hasMutes, blocks, recentSeq, recentTime, flags, namedAt, lastCommit
        """

    private var conversationRows: String {
        """
        SELECT kind, target, part, \(prefixed("number, kind, target, part, \(Self.changedOfConversation)", "c"))
        FROM \(sends(distinctConversations)) LEFT JOIN conversation c USING (kind, target, part)
        """
    }

    private static let changedOfMember = """
        standing, role, joinSeq, joinCountedIndex, readSeq, readCountedIndex, clearSeq, clearCountedIndex, removedSeq, \
        newDeviceFloor, isMuted, isPinned, isMarkedUnread, markedRev, view, userRev, hasDeletedRanges, level
        """

    private var members: String {
        let mention = { (user: String) in
            """
            NOT EXISTS (SELECT FROM mention WHERE conversation = c.number AND userID = \(user)
                    AND seq > coalesce(m.readSeq, 0) AND sender <> e.userID)
            """
        }
        return """
            SELECT c.number, e.userID,
                c.hasMutes AND EXISTS (SELECT FROM mute WHERE conversation = c.number AND userID = e.userID),
                c.flags & 1 <> 0 AND EXISTS (SELECT FROM ban WHERE conversation = c.number AND userID = e.userID),
                CASE WHEN greatest(c.floorCountedIndex, m.joinCountedIndex, m.readCountedIndex, m.clearCountedIndex)
                    = c.countedIndex
                THEN \(mention("e.userID")) AND \(mention("''")) ELSE false END,
                (c.countedIndex + 1) / 1024, b.block, b.words,
                \(prefixed("conversation, userID, \(Self.changedOfMember)", "m"))
            FROM \(sends(distinctMembers)) JOIN conversation c USING (kind, target, part)
            LEFT JOIN LATERAL (
                SELECT * FROM bits WHERE conversation = c.number AND kind = 2 AND userID = e.userID
                AND block >= (c.countedIndex + 1) / 1024 OFFSET 0
            ) AS b ON true
            LEFT JOIN LATERAL (
                SELECT * FROM member WHERE conversation = c.number AND userID = e.userID OFFSET 0
            ) AS m ON true
            """
    }

    private static let columnsOfMessage = """
        seq, countedIndex, timetoken, id, sender, type, digest, flags, rev, editedAt, customType, mentions, replyTo, \
        thread, replyCount, lastReply, actions, metadata, extra, push, content
        """

    private var messages: String {
        let texts = ["metadata", "extra", "push", "content"]
        let columns = Self.columnsOfMessage.split(separator: ", ").map { column in
            texts.contains(String(column)) ? "CASE WHEN NOT m.isLarge THEN m.\(column) END" : "m.\(column)"
        }
        let bytes = texts.map { "coalesce(octet_length(\($0)), 0)" }.joined(separator: " + ")
        return """
            SELECT c.number, e.id, coalesce(m.isLarge, false), \(columns.joined(separator: ", "))
            FROM \(sends(batch)) JOIN conversation c USING (kind, target, part)
            LEFT JOIN LATERAL (
                SELECT *, \(bytes) > 8192 AS isLarge FROM message WHERE id = e.id AND conversation = c.number OFFSET 0
            ) AS m ON true
            """
    }

    private var keys: String {
        """
        SELECT c.number, e.id, k.id, k.sender, k.digest, k.seq, k.countedIndex, k.timetoken
        FROM \(sends(batch)) JOIN conversation c USING (kind, target, part)
        LEFT JOIN LATERAL (
            SELECT * FROM messageKey WHERE id = e.id AND conversation = c.number OFFSET 0
        ) AS k ON true
        WHERE c.firstSeq > 1 OR c.hasDeletedRanges
        """
    }

    // MARK: Changes

    private var insertMessages: String {
        let absent = Array(repeating: "NULL", count: 11).joined(separator: ", ")
        return """
            INSERT INTO message (conversation, \(Self.columnsOfMessage))
            SELECT number, seq, seq, 17000000000000000 + place, id, userID, 'text', place, 0, 0, \(absent),
                decode(repeat('78', 300), 'hex')
            FROM \(sends(batch))
            """
    }

    private var updateConversations: String {
        """
        WITH changed AS (
            UPDATE conversation SET (\(Self.changedOfConversation))
                = (\(prefixed(Self.changedOfConversation, "new")))
            FROM (
                SELECT NULL::bytea, NULL::bytea, NULL::bytea, 'everything', false, false, 0::double precision, 0, seq,
                    seq, 17000000000000000 + place, 0, 1, 0, 0, 0, 0, NULL::bigint, false, 0, false, NULL::bigint,
                    false, 0, seq, 17000000000000000 + place, 0, 0, :known::bigint + 1, number
                FROM \(sends(distinctConversations))
            ) AS new (\(Self.changedOfConversation), number)
            WHERE conversation.number = new.number RETURNING 1
        ) SELECT 1 / (count(*) = \(distinctConversations))::int FROM changed
        """
    }

    private var putMembers: String {
        """
        INSERT INTO member (conversation, userID, \(Self.changedOfMember))
        SELECT number, userID, 1, 'member', 0, 0, seq, seq, 0, 0, 0, 0, false, false, false, 0, 0, 0, false, NULL
        FROM \(sends(distinctMembers))
        ON CONFLICT (conversation, userID) DO UPDATE
        SET (\(Self.changedOfMember)) = (\(prefixed(Self.changedOfMember, "excluded")))
        """
    }

    private var putBits: String {
        """
        INSERT INTO bits (conversation, kind, userID, block, words)
        SELECT number, 2, userID, seq / 1024, decode(repeat('5a', 128), 'hex') FROM \(sends(distinctMembers))
        ON CONFLICT (conversation, kind, userID, block) DO UPDATE SET words = excluded.words
        """
    }
}
