import ScrollbackEngine
import ScrollbackModel
import StoreFiles

/// The engine's changes in one transaction.
final class SQLiteWriter: SQLiteReader, StoreWriter {
    private let commit: Int64
    /// Whether a conversation was stamped with this commit's number.
    private var isStamped = false
    /// The newest time of any conversation stored in this transaction.
    private(set) var newest = Timetoken(rawValue: 0)

    init(_ connection: Connection, commit: Int64) {
        self.commit = commit
        super.init(connection)
    }

    /// Keeps the commit's number where no conversation does, so that numbers go on from here when the store is opened
    /// again: a device may hold one of them in its cursor.
    func finish() throws {
        if !isStamped { try connection.run(.putMoved, bind: { $0.add(commit) }) }
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
                throw ChatError(.internalError, "there is no conversation with the number \(row.number)")
            }
        }
        newest = max(newest, row.timetoken)
        if row.moved >= commit { isStamped = true }
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
                $0.add(message)
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

    func put(_ hidden: HiddenRow, of user: UserID, in conversation: Int64) throws {
        try connection.run(
            .putHidden,
            bind: {
                $0.add(conversation)
                $0.add(user.text)
                $0.add(hidden)
            })
    }

    func dropHidden(of user: UserID, in conversation: Int64, throughN n: Int64) throws {
        try connection.run(
            .dropHidden,
            bind: {
                $0.add(conversation)
                $0.add(user.text)
                $0.add(n)
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

    func erase(_ conversation: Int64) throws {
        for part: Query in [
            .eraseMessages, .eraseMentions, .eraseSpans, .eraseHidden, .eraseReaders, .eraseMembers,
        ] {
            try connection.run(part, bind: { $0.add(conversation) })
        }
    }
}
