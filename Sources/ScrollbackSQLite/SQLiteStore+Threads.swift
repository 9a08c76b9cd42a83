import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

extension SQLiteReader {
    private static let threads = Statement<MessageRow>(
        """
        SELECT \(MessageRow.columns) FROM message
        WHERE conversation = ? AND lastReply IS NOT NULL AND lastReply < ? ORDER BY lastReply DESC
        """)

    func threads(in conversation: Int64, before time: Timetoken?, limit: Int) throws -> [MessageRow] {
        try connection.all(Self.threads, limit: limit) {
            $0.add(conversation, time.map { Int64(bitPattern: $0.rawValue) } ?? .max)
        }
    }

    private static let newestMentions = Statement(
        "SELECT seq, sender FROM mention WHERE conversation = ? AND userID = ? AND seq > ? ORDER BY seq DESC"
    ) { (columns: inout Columns) -> (seq: Seq, sender: UserID) in (columns.integer(), columns.userID()) }
    private static let threadOfMessage = Statement(
        "SELECT thread FROM message WHERE conversation = ? AND seq = ? AND thread IS NOT NULL"
    ) { (columns: inout Columns) in MessageID(try columns.uuid("thread")) }

    func mentionedReplies(
        of user: UserID, in conversation: Int64, above seq: Seq, limit: Int
    ) throws -> [MessageID: [Seq]] {
        // A reply can mention both the user and everyone.
        var seqs: Set<Seq> = []
        for mentioned in [user.text, ""] {
            let newest = try connection.all(Self.newestMentions, limit: limit) { $0.add(conversation, mentioned, seq) }
            seqs.formUnion(newest.filter { $0.sender != user }.map(\.seq))
        }
        var found: [MessageID: [Seq]] = [:]
        for seq in seqs.sorted() {
            guard let thread = try connection.first(Self.threadOfMessage, bind: { $0.add(conversation, seq) }) else {
                continue
            }
            found[thread, default: []].append(seq)
        }
        return found
    }

    private static let threadState = Statement<ThreadStateRow>(
        "SELECT \(ThreadStateRow.columns) FROM threadState WHERE conversation = ? AND userID = ? AND thread = ?")

    func threadState(of user: UserID, in thread: MessageID, of conversation: Int64) throws -> ThreadStateRow? {
        try connection.first(Self.threadState) { $0.add(conversation, user, thread) }
    }

    private static let threadStates = Statement<ThreadStateRow>(
        """
        SELECT \(ThreadStateRow.columns) FROM threadState WHERE conversation = ? AND userID = ? AND thread > ?
        ORDER BY thread
        """)

    func threadStates(
        of user: UserID, in conversation: Int64, after thread: MessageID?, limit: Int
    ) throws -> [ThreadStateRow] {
        try connection.all(Self.threadStates, limit: limit) {
            $0.add(conversation, user, thread ?? MessageID(high: 0, low: 0))
        }
    }
}

extension SQLiteWriter {
    private static let putThreadState = Statement(
        """
        INSERT INTO threadState (conversation, userID, \(ThreadStateRow.columns))
        VALUES (?, ?, \(placeholders(ThreadStateRow.columns)))
        ON CONFLICT (conversation, userID, thread) DO UPDATE
        SET (\(ThreadStateRow.columns)) = (\(excluded(ThreadStateRow.columns)))
        """)

    func put(_ state: ThreadStateRow, of user: UserID, in conversation: Int64) throws {
        try connection.run(Self.putThreadState) { $0.add(conversation, user, state) }
    }

    private static let dropThreadStates = Statement("DELETE FROM threadState WHERE conversation = ? AND thread = ?")

    func dropThread(_ thread: MessageID, in conversation: Int64) throws {
        try connection.run(Self.dropThreadStates) { $0.add(conversation, thread) }
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
