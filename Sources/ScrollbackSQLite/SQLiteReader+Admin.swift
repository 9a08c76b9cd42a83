import Foundation
import ScrollbackEngine
import ScrollbackModel
import StoreFiles

extension SQLiteReader {
    /// Returns the lowest text above `text` among texts without control characters.
    private static func successor(of text: String) -> String { text + "\u{1}" }
    /// Returns a text above all names with a prefix; a name has at most 128 bytes.
    private static func upperBound(ofPrefix prefix: String) -> String {
        prefix + String(repeating: "\u{10FFFF}", count: 33)
    }

    func users(prefix: String, state: UserState?, after: UserID?, limit: Int) throws -> [UserRow] {
        let lower = after.map { Self.successor(of: $0.text) } ?? ""
        let isAbove = !lower.utf8.lexicographicallyPrecedes(prefix.utf8)
        let query: Query =
            switch state {
            case nil: .usersKnown
            case .active: .usersActive
            default: .usersInState
            }
        return try connection.all(
            query, limit: limit,
            bind: { parameters in
                parameters.add(isAbove ? lower : prefix)
                parameters.add(Self.upperBound(ofPrefix: prefix))
                if query == .usersInState, let state { parameters.add(state.rawValue) }
            }, row: { try $0.user() })
    }

    func conversations(
        kind: ConversationKind, prefix: String, after: ConversationID?, limit: Int
    ) throws -> [ConversationRow] {
        // A cursor can be below all names with the prefix.
        let after = after.flatMap { $0.target.text.utf8.lexicographicallyPrecedes(prefix.utf8) ? nil : $0 }
        return try connection.all(
            .conversationsNamed, limit: limit,
            bind: {
                $0.add(kind.rawValue)
                $0.add(after?.target.text ?? prefix)
                $0.add(after.map { Self.successor(of: $0.part?.text ?? "") } ?? "")
                $0.add(Self.upperBound(ofPrefix: prefix))
            }, row: { try $0.conversation() })
    }

    func memberships(of user: UserID, after conversation: Int64, limit: Int) throws -> [MemberRow] {
        try connection.all(
            .membershipsAfter, limit: limit,
            bind: {
                $0.add(user.text)
                $0.add(conversation)
            }, row: { try $0.member() })
    }

    // MARK: Bans

    func ban(of user: UserID, in conversation: Int64) throws -> BanRow? {
        try connection.first(
            .ban,
            bind: {
                $0.add(conversation)
                $0.add(user.text)
            }, row: { try $0.ban() })
    }

    func bans(in conversation: Int64, after: UserID?, limit: Int) throws -> [BanRow] {
        try connection.all(
            .bans, limit: limit,
            bind: {
                $0.add(conversation)
                $0.add(after?.text ?? "")
            }, row: { try $0.ban() })
    }

    func bans(endedBefore time: Date, limit: Int) throws -> [BanRow] {
        try connection.all(.bansEnded, limit: limit, bind: { $0.add(time) }, row: { try $0.ban() })
    }

    // MARK: Reports

    func report(_ number: Int64) throws -> ReportRow? {
        try connection.first(.report, bind: { $0.add(number) }, row: { try $0.report() })
    }

    func report(of message: MessageID, in conversation: Int64, by reporter: UserID) throws -> ReportRow? {
        try connection.first(
            .reportOf,
            bind: {
                $0.add(message.uuid)
                $0.add(conversation)
                $0.add(reporter.text)
            }, row: { try $0.report() })
    }

    func reports(isOpen: Bool?, below number: Int64, limit: Int) throws -> [ReportRow] {
        try connection.all(
            isOpen == nil ? .reports : .reportsInState, limit: limit,
            bind: {
                $0.add(number)
                if let isOpen { $0.add(isOpen) }
            }, row: { try $0.report() })
    }

    func reports(by reporter: UserID, after number: Int64, limit: Int) throws -> [ReportRow] {
        try reports(.reportsBy, reporter, number, limit)
    }

    func reports(about sender: UserID, after number: Int64, limit: Int) throws -> [ReportRow] {
        try reports(.reportsAbout, sender, number, limit)
    }

    private func reports(_ query: Query, _ user: UserID, _ number: Int64, _ limit: Int) throws -> [ReportRow] {
        try connection.all(
            query, limit: limit,
            bind: {
                $0.add(user.text)
                $0.add(number)
            }, row: { try $0.report() })
    }

    func erasure(_ number: Int64) throws -> ErasureRow? {
        try connection.first(.erasure, bind: { $0.add(number) }, row: { try $0.erasure() })
    }

    func erasure(named id: UUID) throws -> ErasureRow? {
        try connection.first(.erasureNamed, bind: { $0.add(id) }, row: { try $0.erasure() })
    }

    func openErasures(limit: Int) throws -> [ErasureRow] {
        try connection.all(.erasuresOpen, limit: limit, bind: { _ in }, row: { try $0.erasure() })
    }

    func participations(of user: UserID, after conversation: Int64, limit: Int) throws -> [Int64] {
        try connection.all(
            .participations, limit: limit,
            bind: {
                $0.add(user.text)
                $0.add(conversation)
            }, row: { $0.integer() })
    }

    func media(of owner: UserID, after id: MediaID?, limit: Int) throws -> [MediaRow] {
        try connection.all(
            id == nil ? .mediaOf : .mediaOfAfter, limit: limit,
            bind: {
                $0.add(owner.text)
                if let id { $0.add(id.uuid) }
            }, row: { try $0.media() })
    }

    func places(mentioning user: UserID, in conversation: Int64, above seq: Seq, limit: Int) throws -> [Seq] {
        try connection.all(
            .placesMentioning, limit: limit,
            bind: {
                $0.add(conversation)
                $0.add(user.text)
                $0.add(seq)
            }, row: { $0.integer() })
    }

    func keys(in conversation: Int64, after id: MessageID, limit: Int) throws -> [KeyRow] {
        try connection.all(
            .keys, limit: limit,
            bind: {
                $0.add(conversation)
                $0.add(id.uuid)
            }, row: { try $0.key() })
    }
}
