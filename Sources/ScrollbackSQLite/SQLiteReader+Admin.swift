import Foundation
import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

extension SQLiteReader {
    /// Returns the lowest text above `text` among texts without control characters.
    private static func successor(of text: String) -> String { text + "\u{1}" }
    /// Returns a text above all names with a prefix; a name has at most 128 bytes.
    private static func upperBound(ofPrefix prefix: String) -> String {
        prefix + String(repeating: "\u{10FFFF}", count: 33)
    }

    private static let knownUsers = Statement<UserRow>(
        "SELECT \(UserRow.columns) FROM person WHERE id >= ? AND id < ? AND state <> 3 ORDER BY id")
    private static let activeUsers = Statement<UserRow>(
        "SELECT \(UserRow.columns) FROM person WHERE id >= ? AND id < ? AND state = 0 ORDER BY id")
    private static let usersInState = Statement<UserRow>(
        "SELECT \(UserRow.columns) FROM person WHERE id >= ?1 AND id < ?2 AND state = ?3 AND state <> 0 ORDER BY id")

    func users(prefix: String, state: UserState?, after: UserID?, limit: Int) throws -> [UserRow] {
        let next = after.map { Self.successor(of: $0.text) } ?? ""
        let lower = next.utf8.lexicographicallyPrecedes(prefix.utf8) ? prefix : next
        let upper = Self.upperBound(ofPrefix: prefix)
        switch state {
        case nil: return try connection.all(Self.knownUsers, limit: limit) { $0.add(lower, upper) }
        case .active: return try connection.all(Self.activeUsers, limit: limit) { $0.add(lower, upper) }
        case let state?:
            return try connection.all(Self.usersInState, limit: limit) { $0.add(lower, upper, state.rawValue) }
        }
    }

    private static let conversationsNamed = Statement<ConversationRow>(
        """
        SELECT \(ConversationRow.columns) FROM conversation
        WHERE kind = ? AND (target, part) >= (?, ?) AND target < ? ORDER BY target, part
        """)

    func conversations(
        kind: ConversationKind, prefix: String, after: ConversationID?, limit: Int
    ) throws -> [ConversationRow] {
        // A cursor can be below all names with the prefix.
        let after = after.flatMap { $0.target.text.utf8.lexicographicallyPrecedes(prefix.utf8) ? nil : $0 }
        let part = after.map { Self.successor(of: $0.part?.text ?? "") } ?? ""
        return try connection.all(Self.conversationsNamed, limit: limit) {
            $0.add(kind.rawValue, after?.target.text ?? prefix, part, Self.upperBound(ofPrefix: prefix))
        }
    }

    private static let membershipsAfter = Statement<MemberRow>(
        "SELECT \(MemberRow.columns) FROM member WHERE userID = ? AND conversation > ? ORDER BY conversation")

    func memberships(of user: UserID, after conversation: Int64, limit: Int) throws -> [MemberRow] {
        try connection.all(Self.membershipsAfter, limit: limit) { $0.add(user, conversation) }
    }

    // MARK: Bans

    private static let ban = Statement<BanRow>(
        "SELECT \(BanRow.columns) FROM ban WHERE conversation = ? AND userID = ?")

    func ban(of user: UserID, in conversation: Int64) throws -> BanRow? {
        try connection.first(Self.ban) { $0.add(conversation, user) }
    }

    private static let bans = Statement<BanRow>(
        "SELECT \(BanRow.columns) FROM ban WHERE conversation = ? AND userID > ? ORDER BY userID")

    func bans(in conversation: Int64, after: UserID?, limit: Int) throws -> [BanRow] {
        try connection.all(Self.bans, limit: limit) { $0.add(conversation, after?.text ?? "") }
    }

    private static let endedBans = Statement<BanRow>(
        "SELECT \(BanRow.columns) FROM ban WHERE until <= ? ORDER BY until")

    func bans(endedBefore time: Date, limit: Int) throws -> [BanRow] {
        try connection.all(Self.endedBans, limit: limit) { $0.add(time) }
    }

    // MARK: Reports

    private static let report = Statement<ReportRow>("SELECT \(ReportRow.columns) FROM report WHERE number = ?")

    func report(_ number: Int64) throws -> ReportRow? {
        try connection.first(Self.report) { $0.add(number) }
    }

    private static let reportOfMessage = Statement<ReportRow>(
        "SELECT \(ReportRow.columns) FROM report WHERE message = ? AND conversation = ? AND reporter = ?")

    func report(of message: MessageID, in conversation: Int64, by reporter: UserID) throws -> ReportRow? {
        try connection.first(Self.reportOfMessage) { $0.add(message, conversation, reporter) }
    }

    private static let reports = Statement<ReportRow>(
        "SELECT \(ReportRow.columns) FROM report WHERE number < ? ORDER BY number DESC")
    private static let reportsInState = Statement<ReportRow>(
        "SELECT \(ReportRow.columns) FROM report WHERE number < ? AND isOpen = ? ORDER BY number DESC")

    func reports(isOpen: Bool?, below number: Int64, limit: Int) throws -> [ReportRow] {
        guard let isOpen else { return try connection.all(Self.reports, limit: limit) { $0.add(number) } }
        return try connection.all(Self.reportsInState, limit: limit) { $0.add(number, isOpen) }
    }

    private static let reportsBy = Statement<ReportRow>(
        "SELECT \(ReportRow.columns) FROM report WHERE reporter = ? AND number > ? ORDER BY number")

    func reports(by reporter: UserID, after number: Int64, limit: Int) throws -> [ReportRow] {
        try connection.all(Self.reportsBy, limit: limit) { $0.add(reporter, number) }
    }

    private static let reportsAbout = Statement<ReportRow>(
        "SELECT \(ReportRow.columns) FROM report WHERE sender = ? AND number > ? ORDER BY number")

    func reports(about sender: UserID, after number: Int64, limit: Int) throws -> [ReportRow] {
        try connection.all(Self.reportsAbout, limit: limit) { $0.add(sender, number) }
    }

    // MARK: Erasures

    private static let erasure = Statement<ErasureRow>("SELECT \(ErasureRow.columns) FROM erasure WHERE number = ?")

    func erasure(_ number: Int64) throws -> ErasureRow? {
        try connection.first(Self.erasure) { $0.add(number) }
    }

    private static let erasureByID = Statement<ErasureRow>("SELECT \(ErasureRow.columns) FROM erasure WHERE id = ?")

    func erasure(named id: UUID) throws -> ErasureRow? {
        try connection.first(Self.erasureByID) { $0.add(id) }
    }

    private static let openErasures = Statement<ErasureRow>(
        "SELECT \(ErasureRow.columns) FROM erasure WHERE endedAt IS NULL AND number > 0 ORDER BY number")

    func openErasures(limit: Int) throws -> [ErasureRow] {
        try connection.all(Self.openErasures, limit: limit)
    }

    private static let participations = Statement(
        "SELECT conversation FROM participant WHERE userID = ? AND conversation > ? ORDER BY conversation"
    ) { $0.integer() }

    func participations(of user: UserID, after conversation: Int64, limit: Int) throws -> [Int64] {
        try connection.all(Self.participations, limit: limit) { $0.add(user, conversation) }
    }

    private static let placesMentioning = Statement(
        "SELECT mention.seq FROM mention WHERE conversation = ? AND userID = ? AND seq > ? ORDER BY seq"
    ) { $0.integer() }

    func places(mentioning user: UserID, in conversation: Int64, above seq: Seq, limit: Int) throws -> [Seq] {
        try connection.all(Self.placesMentioning, limit: limit) { $0.add(conversation, user, seq) }
    }

    private static let keys = Statement<KeyRow>(
        "SELECT \(KeyRow.columns) FROM messageKey WHERE conversation = ? AND id > ? ORDER BY id")

    func keys(in conversation: Int64, after id: MessageID, limit: Int) throws -> [KeyRow] {
        try connection.all(Self.keys, limit: limit) { $0.add(conversation, id) }
    }
}
