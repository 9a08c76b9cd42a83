import ScrollbackEngine
import ScrollbackModel
import StoreFiles

/// Answers the engine's queries on one snapshot.
///
/// Each query is a seek in an index, or a scan of a contiguous range.
class SQLiteReader: StoreReader {
    let connection: SQLiteConnection

    init(_ connection: SQLiteConnection) {
        self.connection = connection
    }

    func conversation(_ id: ConversationID) throws -> ConversationRow? {
        try connection.first(.conversationByName, bind: { $0.add(id) }, row: { try $0.conversation() })
    }

    func conversation(numbered number: Int64) throws -> ConversationRow? {
        try connection.first(.conversationByNumber, bind: { $0.add(number) }, row: { try $0.conversation() })
    }

    func channels(of community: Identifier, after: Identifier?, limit: Int) throws -> [ConversationRow] {
        try connection.all(
            .channels, limit: limit,
            bind: {
                $0.add(community.text)
                // The community itself has an empty part.
                $0.add(after?.text ?? "")
            }, row: { try $0.conversation() })
    }

    func member(_ user: UserID, of conversation: Int64) throws -> MemberRow? {
        try connection.first(
            .member,
            bind: {
                $0.add(conversation)
                $0.add(user.text)
            }, row: { try $0.member() })
    }

    func members(of conversation: Int64, after: UserID?, limit: Int) throws -> [MemberRow] {
        try connection.all(
            .members, limit: limit,
            bind: {
                $0.add(conversation)
                $0.add(after?.text ?? "")
            }, row: { try $0.member() })
    }

    func memberships(of user: UserID) throws -> [MemberRow] {
        try connection.all(.memberships, bind: { $0.add(user.text) }, row: { try $0.member() })
    }

    func membershipSummaries(of user: UserID, committedAfter lastCommit: Int64, changedAbove rev: Int64) throws
        -> [MembershipSummary]
    {
        try connection.all(
            .membershipSummaries,
            bind: {
                $0.add(user.text)
                $0.add(lastCommit)
                $0.add(rev)
            }, row: { try $0.membershipSummary() })
    }

    func recentsCandidates(of user: UserID, _ filter: RecentsListFilter) throws -> [RecentsCandidate] {
        try connection.all(
            .recentsCandidates,
            bind: {
                $0.add(user.text)
                $0.add(filter.kind?.rawValue ?? "")
                $0.add(filter.isMuted.map { $0 ? 1 : 0 })
                $0.add(filter.isUnread)
            }, row: { $0.recentsCandidate() })
    }

    func unreadAdjustments(of user: UserID) throws -> [Int64: UnreadAdjustment] {
        var counts: [Int64: UnreadAdjustment] = [:]
        try connection.run(.unreadAdjustments, bind: { $0.add(user.text) }) { columns in
            let number = columns.integer()
            var count = counts[number] ?? UnreadAdjustment()
            count.mayBeMentioned = columns.flag()
            if !columns.skipIfNull() { count.add(try columns.block()) }
            counts[number] = count
            return true
        }
        return counts
    }

    func channelSummaries(of user: UserID, in community: Identifier) throws -> [MembershipSummary] {
        try connection.all(
            .channelSummaries,
            bind: {
                $0.add(user.text)
                $0.add(community.text)
            }, row: { try $0.membershipSummary() })
    }

    func spans(of user: UserID, in conversation: Int64) throws -> [SpanRow] {
        try connection.all(
            .spans,
            bind: {
                $0.add(conversation)
                $0.add(user.text)
            }, row: { SpanRow(joined: $0.integer(), left: $0.optionalInteger()) })
    }

    func bits(_ set: BitSet, of conversation: Int64, blocks: ClosedRange<Int64>) throws -> [BitBlock] {
        try connection.all(
            .bits,
            bind: {
                $0.add(conversation)
                $0.add(set)
                $0.add(blocks.lowerBound)
                $0.add(blocks.upperBound)
            }, row: { try $0.block() })
    }

    func deletedRanges(of user: UserID?, in conversation: Int64) throws -> [DeletedRangeRow] {
        try connection.all(
            .deletedRanges,
            bind: {
                $0.add(conversation)
                $0.add(user?.text ?? "")
            }, row: { try $0.deletedRange() })
    }

    func mentions(of user: UserID, in conversation: Int64, above seq: Seq) throws -> [Seq] {
        try connection.all(
            .mentions,
            bind: {
                $0.add(conversation)
                $0.add(user.text)
                $0.add(seq)
            }, row: { $0.integer() })
    }

    func user(_ id: UserID) throws -> UserRow? {
        try connection.first(.user, bind: { $0.add(id.text) }, row: { try $0.user() })
    }

    func conversations(after number: Int64, limit: Int) throws -> [ConversationRow] {
        try connection.all(.conversations, limit: limit, bind: { $0.add(number) }, row: { try $0.conversation() })
    }

    func settings() throws -> RawJSON? {
        try connection.first(
            .serverSettings, bind: { _ in }, row: { RawJSON(known: try $0.text("value", of: .settings)) })
    }
}
