import ScrollbackEngine
import ScrollbackModel
import StoreFiles

/// Executes the engine's changes in one transaction.
final class SQLiteWriter: SQLiteReader, StoreWriter {
    private let commit: Int64
    /// Whether a conversation has this commit's number.
    private var isCommitNumberStored = false
    /// The newest timetoken of all conversations in this transaction.
    private(set) var newest = Timetoken(rawValue: 0)

    init(_ connection: SQLiteConnection, commit: Int64) {
        self.commit = commit
        super.init(connection)
    }

    /// Stores the commit number if no conversation has it.
    ///
    /// Numbers must continue after the store is reopened, because client cursors can contain them.
    func finish() throws {
        if !isCommitNumberStored { try connection.run(.putLastCommit, bind: { $0.add(commit) }) }
    }

    func put(_ conversation: inout ConversationRow) throws {
        let row = conversation
        if row.number == 0 {
            var number: Int64 = 0
            try connection.run(
                .insertConversation,
                bind: {
                    $0.add(settingsOf: row)
                    $0.add(row.id)
                },
                row: { columns in
                    number = columns.integer()
                    return true
                })
            conversation.number = number
        } else {
            try connection.run(
                .updateConversation,
                bind: {
                    $0.add(settingsOf: row)
                    $0.add(row.number)
                })
            guard connection.changes == 1 else {
                throw ChatError(.internalError, "Conversation number \(row.number) does not exist.")
            }
        }
        newest = max(newest, row.timetoken)
        if row.lastCommit >= commit { isCommitNumberStored = true }
    }

    func put(_ member: MemberRow) throws {
        try connection.run(.putMember, bind: { $0.add(member) })
    }

    func put(_ user: UserRow) throws {
        try connection.run(.putUser, bind: { $0.add(user) })
    }

    func insert(_ message: MessageRow, in conversation: Int64) throws {
        try connection.run(
            .insertMessage,
            bind: {
                $0.add(conversation)
                $0.add(message, in: conversation)
            })
    }

    func put(_ span: SpanRow, of user: UserID, in conversation: Int64) throws {
        try connection.run(
            .putSpan,
            bind: {
                $0.add(conversation)
                $0.add(user.text)
                $0.add(span.joined)
                $0.add(span.left)
            })
    }

    func put(_ block: BitBlock, of set: BitSet, in conversation: Int64) throws {
        try connection.run(
            .putBits,
            bind: {
                $0.add(conversation)
                $0.add(set)
                $0.add(block.index)
                $0.add(bytesOf: block.words)
            })
    }

    func dropBits(_ set: BitSet, of conversation: Int64, below block: Int64) throws {
        try connection.run(
            .dropBits,
            bind: {
                $0.add(conversation)
                $0.add(set)
                $0.add(block)
            })
    }

    func put(_ deletedRange: DeletedRangeRow, of user: UserID?, in conversation: Int64) throws {
        try connection.run(
            .putDeletedRanges,
            bind: {
                $0.add(conversation)
                $0.add(user?.text ?? "")
                $0.add(deletedRange.places.lowerBound)
                $0.add(deletedRange.places.upperBound)
                $0.add(deletedRange.userRev)
                $0.add(deletedRange.holdsMessages)
            })
    }

    func dropDeletedRange(from seq: Seq, of user: UserID?, in conversation: Int64) throws {
        try connection.run(
            .dropDeletedRange,
            bind: {
                $0.add(conversation)
                $0.add(user?.text ?? "")
                $0.add(seq)
            })
    }

    func insertMention(of user: UserID?, by sender: UserID, at seq: Seq, in conversation: Int64) throws {
        try connection.run(
            .insertMention,
            bind: {
                $0.add(conversation)
                $0.add(user?.text ?? "")
                $0.add(seq)
                $0.add(sender.text)
            })
    }

    func dropMention(of user: UserID?, at seq: Seq, in conversation: Int64) throws {
        try connection.run(
            .dropMention,
            bind: {
                $0.add(conversation)
                $0.add(user?.text ?? "")
                $0.add(seq)
            })
    }

    func put(settings: RawJSON) throws {
        try connection.run(.putSettings, bind: { $0.add(settings.text, "value", of: .settings) })
    }

    func erase(_ conversation: Int64) throws {
        for part: Query in [
            .eraseMessages, .eraseMentions, .eraseSpans, .eraseBits, .eraseDeletedRanges, .eraseRetired, .eraseChanges,
            .eraseActions, .eraseReaders, .eraseMembers, .eraseMutes, .eraseReceipts, .eraseInvitations, .eraseBans,
            .erasePushes, .eraseReach, .erasePushRetries, .dropPushWalk,
        ] {
            try connection.run(part, bind: { $0.add(conversation) })
        }
    }
}
