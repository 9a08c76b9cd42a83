import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

/// Answers the engine's queries on one snapshot.
///
/// Each query is a seek in an index, or a scan of a contiguous range.
class SQLiteReader: StoreReader {
    let connection: SQLiteConnection

    init(_ connection: SQLiteConnection) {
        self.connection = connection
    }

    private static let conversationByName = Statement<ConversationRow>(
        "SELECT \(ConversationRow.columns) FROM conversation WHERE kind = ? AND target = ? AND part = ?")

    func conversation(_ id: ConversationID) throws -> ConversationRow? {
        try connection.first(Self.conversationByName) { $0.add(id) }
    }

    private static let conversationByNumber = Statement<ConversationRow>(
        "SELECT \(ConversationRow.columns) FROM conversation WHERE number = ?")

    func conversation(numbered number: Int64) throws -> ConversationRow? {
        try connection.first(Self.conversationByNumber) { $0.add(number) }
    }

    private static let conversations = Statement<ConversationRow>(
        "SELECT \(ConversationRow.columns) FROM conversation WHERE number > ? ORDER BY number")

    func conversations(after number: Int64, limit: Int) throws -> [ConversationRow] {
        try connection.all(Self.conversations, limit: limit) { $0.add(number) }
    }

    private static let changedConversations = Statement(
        "SELECT number FROM conversation WHERE number > ? AND lastCommit > ? ORDER BY number"
    ) { $0.integer() }

    func conversationNumbers(after number: Int64, committedAfter lastCommit: Int64, limit: Int) throws -> [Int64] {
        try connection.all(Self.changedConversations, limit: limit) { $0.add(number, lastCommit) }
    }

    private static let channels = Statement<ConversationRow>(
        """
        SELECT \(ConversationRow.columns) FROM conversation
        WHERE kind = 'community' AND target = ? AND part > ? ORDER BY part
        """)

    func channels(of community: Identifier, after: Identifier?, limit: Int) throws -> [ConversationRow] {
        // The community itself has an empty part.
        try connection.all(Self.channels, limit: limit) { $0.add(community, after?.text ?? "") }
    }

    // MARK: Members

    private static let member = Statement<MemberRow>(
        "SELECT \(MemberRow.columns) FROM member WHERE conversation = ? AND userID = ?")

    func member(_ user: UserID, of conversation: Int64) throws -> MemberRow? {
        try connection.first(Self.member) { $0.add(conversation, user) }
    }

    private static let members = Statement<MemberRow>(
        """
        SELECT \(MemberRow.columns) FROM member WHERE conversation = ? AND userID > ? AND standing = 1
        ORDER BY userID
        """)

    func members(of conversation: Int64, after: UserID?, limit: Int) throws -> [MemberRow] {
        try connection.all(Self.members, limit: limit) { $0.add(conversation, after?.text ?? "") }
    }

    private static let memberships = Statement<MemberRow>(
        "SELECT \(MemberRow.columns) FROM member WHERE userID = ? ORDER BY conversation")

    func memberships(of user: UserID) throws -> [MemberRow] {
        try connection.all(Self.memberships) { $0.add(user) }
    }

    private static let deletedRanges = Statement(
        """
        SELECT lower, upper, userRev, holdsMessages FROM deletedRange WHERE conversation = ? AND userID = ?
        ORDER BY lower
        """
    ) { DeletedRangeRow(try $0.range(), userRev: $0.integer(), holdsMessages: $0.flag()) }

    func deletedRanges(of user: UserID?, in conversation: Int64) throws -> [DeletedRangeRow] {
        try connection.all(Self.deletedRanges) { $0.add(conversation, user?.text ?? "") }
    }

    private static let mentions = Statement(
        """
        SELECT seq FROM mention WHERE conversation = ?1 AND userID = ?2 AND seq > ?3 AND sender <> ?2
        UNION SELECT seq FROM mention WHERE conversation = ?1 AND userID = '' AND seq > ?3 AND sender <> ?2
        ORDER BY seq
        """
    ) { $0.integer() }

    func mentions(of user: UserID, in conversation: Int64, above seq: Seq) throws -> [Seq] {
        try connection.all(Self.mentions) { $0.add(conversation, user, seq) }
    }

    private static let bits = Statement<BitBlock>(
        """
        SELECT \(BitBlock.columns) FROM bits
        WHERE conversation = ? AND kind = ? AND userID = ? AND block BETWEEN ? AND ? ORDER BY block
        """)

    func bits(_ set: BitSet, of conversation: Int64, blocks: ClosedRange<Int64>) throws -> [BitBlock] {
        try connection.all(Self.bits) { $0.add(conversation, set, blocks) }
    }

    // MARK: Users and settings

    private static let user = Statement<UserRow>("SELECT \(UserRow.columns) FROM person WHERE id = ?")

    func user(_ id: UserID) throws -> UserRow? {
        try connection.first(Self.user) { $0.add(id) }
    }

    private static let settings = Statement("SELECT value FROM setting WHERE name = 'server'") {
        try $0.json("value", of: .settings)
    }

    func settings() throws -> RawJSON? {
        try connection.first(Self.settings) ?? nil
    }
}

extension BitBlock: StoredRow {
    static let columns = "block, words"

    init(_ columns: inout Columns) throws {
        let index = columns.integer()
        guard let words = columns.bytes(as: SIMD16<UInt64>.self) else { throw Columns.unreadable("words") }
        self.init(index: index, words: words)
    }
}

extension BitSet: Bindable {
    /// Binds the kind and user.
    func bind(to parameters: inout Parameters) {
        switch self {
        case .removed: parameters.add(0 as Int64, "")
        case .deleted: parameters.add(1 as Int64, "")
        case .uncounted(let user): parameters.add(2 as Int64, user)
        case .replies(let thread): parameters.add(3 as Int64, thread.description)
        }
    }
}
