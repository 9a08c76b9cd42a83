import Foundation
import GRDB
import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

extension SQLiteStore {
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
}

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
