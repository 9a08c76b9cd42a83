import Foundation
import ScrollbackEngine
import ScrollbackModel

extension PostgresReader {
    private static let threads = Statement<MessageRow>(
        """
        SELECT \(MessageRow.columns) FROM message
        WHERE conversation = ? AND lastReply IS NOT NULL AND lastReply < ? ORDER BY lastReply DESC LIMIT ?
        """)

    func threads(in conversation: Int64, before time: Timetoken?, limit: Int) throws -> [MessageRow] {
        try connection.all(Self.threads, limit: limit) {
            $0.add(conversation, time.map { Int64(bitPattern: $0.rawValue) } ?? .max)
        }
    }

    private static let mentionedReplies = Statement(
        """
        SELECT message.thread, mention.seq FROM (
            (SELECT seq, sender FROM mention WHERE conversation = $1 AND userID = $2 AND seq > $3
                ORDER BY seq DESC LIMIT $4)
            UNION ALL
            (SELECT seq, sender FROM mention WHERE conversation = $1 AND userID = '' AND seq > $3
                ORDER BY seq DESC LIMIT $4)
        ) AS mention JOIN message ON message.conversation = $1 AND message.seq = mention.seq
        WHERE mention.sender <> $2 AND message.thread IS NOT NULL
        """
    ) { (columns: inout Columns) -> (thread: MessageID, seq: Seq) in
        (thread: MessageID(try columns.uuid("thread")), seq: columns.integer())
    }

    func mentionedReplies(
        of user: UserID, in conversation: Int64, above seq: Seq, limit: Int
    ) throws -> [MessageID: [Seq]] {
        let found = try connection.all(Self.mentionedReplies) { $0.add(conversation, user, seq, Int64(limit)) }
        // A reply can mention both the user and everyone.
        return Dictionary(grouping: found, by: \.thread).mapValues { Set($0.map(\.seq)).sorted() }
    }

    private static let threadState = Statement<ThreadStateRow>(
        "SELECT \(ThreadStateRow.columns) FROM threadState WHERE conversation = ? AND userID = ? AND thread = ?")

    func threadState(of user: UserID, in thread: MessageID, of conversation: Int64) throws -> ThreadStateRow? {
        if let known = connection.ahead.threadState(of: user, in: thread, of: conversation) { return known }
        return try connection.first(Self.threadState) { $0.add(conversation, user, thread) }
    }

    private static let threadStates = Statement<ThreadStateRow>(
        """
        SELECT \(ThreadStateRow.columns) FROM threadState WHERE conversation = ? AND userID = ? AND thread > ?
        ORDER BY thread LIMIT ?
        """)

    func threadStates(
        of user: UserID, in conversation: Int64, after thread: MessageID?, limit: Int
    ) throws -> [ThreadStateRow] {
        try connection.all(Self.threadStates, limit: limit) {
            $0.add(conversation, user, thread ?? MessageID(high: 0, low: 0))
        }
    }
}

extension PostgresWriter {
    private static let putThreadState = Statement(
        insertingInto: "threadState", "conversation, userID, \(ThreadStateRow.columns)",
        onConflict: """
            (conversation, userID, thread) DO UPDATE
            SET (\(ThreadStateRow.columns)) = (\(excluded(ThreadStateRow.columns)))
            """)

    func put(_ state: ThreadStateRow, of user: UserID, in conversation: Int64) throws {
        let key = ReadAhead.ThreadKey(conversation: conversation, thread: state.thread, user: user)
        try connection.gather(Self.putThreadState, key: key) { $0.add(conversation, user, state) }
        connection.ahead.put(state, of: user, in: conversation)
    }

    private static let dropThreadStates = Statement("DELETE FROM threadState WHERE conversation = ? AND thread = ?")

    func dropThread(_ thread: MessageID, in conversation: Int64) throws {
        try connection.enqueue(Self.dropThreadStates) { $0.add(conversation, thread) }
        try dropBits(.replies(thread), of: conversation, below: .max)
    }
}

extension ThreadStateRow: StoredRow, Bindable {
    static let columns = "thread, following, readSeq, readCountedIndex, userRev"

    init(_ columns: inout Columns) throws {
        self.init(
            thread: MessageID(try columns.uuid("thread")), following: try columns.enumValue("following"),
            readSeq: columns.integer(), readCountedIndex: columns.integer(), userRev: columns.integer())
    }

    func bind(to parameters: inout Parameters) {
        parameters.add(thread, following.rawValue)
        parameters.add(readSeq, readCountedIndex, userRev)
    }
}
