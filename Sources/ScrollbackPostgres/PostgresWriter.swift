import ScrollbackEngine
import ScrollbackModel

/// Executes the engine's changes in one transaction.
///
/// Changes are queued, and sent with the next query or the commit. Their errors are thrown then.
final class PostgresWriter: PostgresReader, StoreWriter {
    /// The newest timetoken of all conversations in this transaction.
    private(set) var newest = Timetoken(rawValue: 0)
    /// The generation of an incarnation that this transaction begins.
    var generation: UInt64?

    private static let insertConversation = Statement(
        """
        INSERT INTO conversation (\(ConversationRow.updatedColumns), kind, target, part)
        VALUES (\(placeholders(ConversationRow.updatedColumns)), ?, ?, ?)
        ON CONFLICT (kind, target, part) DO UPDATE
        SET (\(ConversationRow.updatedColumns)) = (\(excluded(ConversationRow.updatedColumns)))
        RETURNING number
        """, changing: []
    ) { $0.integer() }
    private static let updateConversation = Statement(
        updating: "conversation", ConversationRow.updatedColumns, key: "number")

    func put(_ conversation: inout ConversationRow) throws {
        let row = conversation
        if row.number == 0 {
            conversation.number = try connection.first(Self.insertConversation) { $0.add(row, row.id) } ?? 0
            connection.ahead.put(conversation)
        } else {
            try connection.gather(Self.updateConversation, key: row.number) { $0.add(row, row.number) }
            connection.ahead.put(row)
        }
        newest = max(newest, row.timetoken)
    }

    private static let putMember = Statement(
        insertingInto: "member", MemberRow.columns,
        onConflict: """
            (conversation, userID) DO UPDATE
            SET (\(MemberRow.updatedColumns)) = (\(excluded(MemberRow.updatedColumns)))
            """)

    func put(_ member: MemberRow) throws {
        let key = ReadAhead.MemberKey(conversation: member.conversation, user: member.user)
        try connection.gather(Self.putMember, key: key) { $0.add(member) }
        connection.ahead.put(member)
    }

    private static let putUser = Statement(
        insertingInto: "person", UserRow.columns,
        onConflict: "(id) DO UPDATE SET (\(UserRow.updatedColumns)) = (\(excluded(UserRow.updatedColumns)))")

    func put(_ user: UserRow) throws {
        try connection.gather(Self.putUser, key: user.profile.id) { $0.add(user) }
        connection.ahead.put(user)
    }

    private static let insertMessage = Statement(insertingInto: "message", "conversation, \(MessageRow.columns)")

    func insert(_ message: MessageRow, in conversation: Int64) throws {
        try connection.gather(Self.insertMessage) { $0.add(message, in: conversation) }
        connection.ahead.put(message, in: conversation)
    }

    private static let putBits = Statement(
        insertingInto: "bits", "conversation, kind, userID, \(BitBlock.columns)",
        onConflict: "(conversation, kind, userID, block) DO UPDATE SET words = excluded.words")

    func put(_ block: BitBlock, of set: BitSet, in conversation: Int64) throws {
        try connection.gather(Self.putBits, key: BitsKey(conversation: conversation, set: set, block: block.index)) {
            $0.add(conversation, set, block.index)
            $0.add(bytesOf: block.words)
        }
        connection.ahead.put(block, of: set, in: conversation)
    }

    private struct BitsKey: Hashable {
        var conversation: Int64
        var set: BitSet
        var block: Int64
    }

    private static let dropBits = Statement(
        """
        DELETE FROM bits USING unnest(?, ?, ?, ?) AS e (conversation, kind, userID, block)
        WHERE bits.conversation = e.conversation AND bits.kind = e.kind AND bits.userID = e.userID
        AND bits.block < e.block
        """)

    func dropBits(_ set: BitSet, of conversation: Int64, below block: Int64) throws {
        try connection.gather(Self.dropBits) { $0.add(conversation, set, block) }
        connection.ahead.dropBits(set, of: conversation, below: block)
    }

    private static let putDeletedRange = Statement(
        """
        INSERT INTO deletedRange (conversation, userID, lower, upper, userRev, holdsMessages) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (conversation, userID, lower) DO UPDATE
        SET upper = excluded.upper, userRev = excluded.userRev, holdsMessages = excluded.holdsMessages
        """)

    func put(_ deletedRange: DeletedRangeRow, of user: UserID?, in conversation: Int64) throws {
        try connection.enqueue(Self.putDeletedRange) {
            $0.add(conversation, user?.text ?? "", deletedRange.places)
            $0.add(deletedRange.userRev, deletedRange.holdsMessages)
        }
    }

    private static let dropDeletedRange = Statement(
        "DELETE FROM deletedRange WHERE conversation = ? AND userID = ? AND lower = ?")

    func dropDeletedRange(from seq: Seq, of user: UserID?, in conversation: Int64) throws {
        try connection.enqueue(Self.dropDeletedRange) { $0.add(conversation, user?.text ?? "", seq) }
    }

    private static let insertMention = Statement(
        insertingInto: "mention", "conversation, userID, seq, sender",
        onConflict: "(conversation, userID, seq) DO NOTHING")

    func insertMention(of user: UserID?, by sender: UserID, at seq: Seq, in conversation: Int64) throws {
        try connection.gather(Self.insertMention) { $0.add(conversation, user?.text ?? "", seq, sender) }
        connection.ahead.putMention(of: user, by: sender, in: conversation)
    }

    private static let dropMention = Statement(
        "DELETE FROM mention WHERE conversation = ? AND userID = ? AND seq = ?")

    func dropMention(of user: UserID?, at seq: Seq, in conversation: Int64) throws {
        try connection.enqueue(Self.dropMention) { $0.add(conversation, user?.text ?? "", seq) }
    }

    private static let putSettings = Statement(
        """
        INSERT INTO setting (name, value) VALUES ('server', ?)
        ON CONFLICT (name) DO UPDATE SET value = excluded.value
        """)

    func put(settings: RawJSON) throws {
        try connection.enqueue(Self.putSettings) { $0.add(utf8: settings.text) }
    }

    private static let eraseRows: [Statement<Void>] = [
        "message", "mention", "span", "bits", "deletedRange", "messageKey", "change", "action", "mute", "receipt",
        "invitation", "ban", "push", "pushLevel", "pushRetry", "pushWalk", "threadState",
    ].map { Statement("DELETE FROM \($0) WHERE conversation = ?") }
    private static let eraseReaders = Statement("DELETE FROM member WHERE conversation = ? AND standing = 0")
    private static let eraseMembers = Statement(
        """
        UPDATE member SET standing = 2, role = 'member', joinSeq = 0, joinCountedIndex = 0, readSeq = 0,
            readCountedIndex = 0, clearSeq = 0, clearCountedIndex = 0, removedSeq = 0, newDeviceFloor = 0,
            isMuted = false, isPinned = false, isMarkedUnread = false, markedRev = 0, view = 0, userRev = 0,
            hasDeletedRanges = false, level = NULL
        WHERE conversation = ?
        """)

    func erase(_ conversation: Int64) throws {
        try connection.runLongStatements {
            for statement in Self.eraseRows + [Self.eraseReaders, Self.eraseMembers] {
                try connection.enqueue(statement) { $0.add(conversation) }
            }
        }
    }
}
