import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

/// Executes the engine's changes in one transaction.
final class SQLiteWriter: SQLiteReader, StoreWriter {
    private let commit: Int64
    /// Whether a conversation has this commit's number.
    private var isCommitNumberStored = false
    /// The newest timetoken of all conversations in this transaction.
    private(set) var newest = Timetoken(rawValue: 0)
    /// The generation of an incarnation that this transaction begins.
    var generation: UInt64?

    init(_ connection: SQLiteConnection, commit: Int64) {
        self.commit = commit
        super.init(connection)
    }

    private static let putLastCommit = Statement("UPDATE meta SET value = ? WHERE name = 'lastCommit'")

    /// Stores the commit number if no conversation has it.
    ///
    /// Numbers must continue after the store is reopened, because client cursors can contain them.
    func finish() throws {
        if !isCommitNumberStored { try connection.run(Self.putLastCommit) { $0.add(commit) } }
    }

    private static let insertConversation = Statement(
        """
        INSERT INTO conversation (\(ConversationRow.updatedColumns), kind, target, part)
        VALUES (\(placeholders(ConversationRow.updatedColumns)), ?, ?, ?)
        ON CONFLICT (kind, target, part) DO UPDATE
        SET (\(ConversationRow.updatedColumns)) = (\(excluded(ConversationRow.updatedColumns)))
        RETURNING number
        """
    ) { $0.integer() }
    // Does not set the ID columns: they never change, but SQLite would rewrite their index.
    private static let updateConversation = Statement(
        """
        UPDATE conversation SET (\(ConversationRow.updatedColumns)) = (\(placeholders(ConversationRow.updatedColumns)))
        WHERE number = ?
        """)

    func put(_ conversation: inout ConversationRow) throws {
        let row = conversation
        if row.number == 0 {
            conversation.number = try connection.first(Self.insertConversation) { $0.add(row, row.id) } ?? 0
        } else {
            try connection.run(Self.updateConversation) { $0.add(row, row.number) }
            guard connection.changes == 1 else {
                throw ChatError(.internalError, "Conversation number \(row.number) does not exist.")
            }
        }
        newest = max(newest, row.timetoken)
        if row.lastCommit >= commit { isCommitNumberStored = true }
    }

    private static let putMember = Statement(
        """
        INSERT INTO member (\(MemberRow.columns)) VALUES (\(placeholders(MemberRow.columns)))
        ON CONFLICT (conversation, userID) DO UPDATE
        SET (\(MemberRow.updatedColumns)) = (\(excluded(MemberRow.updatedColumns)))
        """)

    func put(_ member: MemberRow) throws {
        try connection.run(Self.putMember) { $0.add(member) }
    }

    private static let putUser = Statement(
        """
        INSERT INTO person (\(UserRow.columns)) VALUES (\(placeholders(UserRow.columns)))
        ON CONFLICT (id) DO UPDATE SET (\(UserRow.updatedColumns)) = (\(excluded(UserRow.updatedColumns)))
        """)

    func put(_ user: UserRow) throws {
        try connection.run(Self.putUser) { $0.add(user) }
    }

    private static let insertMessage = Statement(
        "INSERT INTO message (\(MessageRow.columns)) VALUES (\(placeholders(MessageRow.columns)))")

    func insert(_ message: MessageRow, in conversation: Int64) throws {
        try connection.run(Self.insertMessage) { $0.add(message, in: conversation) }
    }

    private static let putBits = Statement(
        """
        INSERT INTO bits (conversation, kind, userID, block, words) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (conversation, kind, userID, block) DO UPDATE SET words = excluded.words
        """)

    func put(_ block: BitBlock, of set: BitSet, in conversation: Int64) throws {
        try connection.run(Self.putBits) {
            $0.add(conversation, set, block.index)
            $0.add(bytesOf: block.words)
        }
    }

    private static let dropBits = Statement(
        "DELETE FROM bits WHERE conversation = ? AND kind = ? AND userID = ? AND block < ?")

    func dropBits(_ set: BitSet, of conversation: Int64, below block: Int64) throws {
        try connection.run(Self.dropBits) { $0.add(conversation, set, block) }
    }

    private static let putDeletedRange = Statement(
        """
        INSERT INTO deletedRange (conversation, userID, lower, upper, userRev, holdsMessages) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (conversation, userID, lower) DO UPDATE
        SET upper = excluded.upper, userRev = excluded.userRev, holdsMessages = excluded.holdsMessages
        """)

    func put(_ deletedRange: DeletedRangeRow, of user: UserID?, in conversation: Int64) throws {
        try connection.run(Self.putDeletedRange) {
            $0.add(conversation, user?.text ?? "", deletedRange.places)
            $0.add(deletedRange.userRev, deletedRange.holdsMessages)
        }
    }

    private static let dropDeletedRange = Statement(
        "DELETE FROM deletedRange WHERE conversation = ? AND userID = ? AND lower = ?")

    func dropDeletedRange(from seq: Seq, of user: UserID?, in conversation: Int64) throws {
        try connection.run(Self.dropDeletedRange) { $0.add(conversation, user?.text ?? "", seq) }
    }

    private static let insertMention = Statement(
        """
        INSERT INTO mention (conversation, userID, seq, sender) VALUES (?, ?, ?, ?)
        ON CONFLICT (conversation, userID, seq) DO NOTHING
        """)

    func insertMention(of user: UserID?, by sender: UserID, at seq: Seq, in conversation: Int64) throws {
        try connection.run(Self.insertMention) { $0.add(conversation, user?.text ?? "", seq, sender) }
    }

    private static let dropMention = Statement(
        "DELETE FROM mention WHERE conversation = ? AND userID = ? AND seq = ?")

    func dropMention(of user: UserID?, at seq: Seq, in conversation: Int64) throws {
        try connection.run(Self.dropMention) { $0.add(conversation, user?.text ?? "", seq) }
    }

    private static let putSettings = Statement(
        """
        INSERT INTO setting (name, value) VALUES ('server', ?)
        ON CONFLICT (name) DO UPDATE SET value = excluded.value
        """)

    func put(settings: RawJSON) throws {
        try connection.run(Self.putSettings) { $0.add(settings.text, "value", of: .settings) }
    }

    private static let eraseRows: [Statement<Void>] = [
        "message", "mention", "span", "bits", "deletedRange", "messageKey", "change", "action", "mute", "receipt",
        "invitation", "ban", "push", "pushLevel", "pushRetry", "pushWalk", "threadState",
    ].map { Statement("DELETE FROM \($0) WHERE conversation = ?") }
    private static let eraseReaders = Statement("DELETE FROM member WHERE conversation = ? AND standing = 0")
    private static let eraseMembers = Statement(
        """
        UPDATE member SET standing = 2, role = 'member', joinSeq = 0, joinCountedIndex = 0, readSeq = 0,
            readCountedIndex = 0, clearSeq = 0, clearCountedIndex = 0, removedSeq = 0, newDeviceFloor = 0, isMuted = 0,
            isPinned = 0, isMarkedUnread = 0, markedRev = 0, view = 0, userRev = 0, hasDeletedRanges = 0, level = NULL
        WHERE conversation = ?
        """)

    func erase(_ conversation: Int64) throws {
        for statement in Self.eraseRows + [Self.eraseReaders, Self.eraseMembers] {
            try connection.run(statement) { $0.add(conversation) }
        }
    }
}
