import Foundation
import ScrollbackModel

extension MemoryRows {
    // MARK: Reading

    func hasBlocked(_ user: UserID, _ other: UserID) -> Bool { moderation.hasBlocked(user, other) }
    func blocked(by user: UserID, after: UserID?, limit: Int) -> [UserID] {
        moderation.blocked(by: user, after: after, limit: limit)
    }
    func blockers(of user: UserID, limit: Int) -> [UserID] { moderation.blockers(of: user, limit: limit) }
    func mute(of user: UserID, in conversation: Int64) -> Mute? { moderation.mute(of: user, in: conversation) }

    func ban(of user: UserID, in conversation: Int64) -> BanRow? {
        moderation.bans[.init(conversation: conversation, user: user)]
    }

    func bans(in conversation: Int64, after: UserID?, limit: Int) -> [BanRow] {
        let all = moderation.bans.values.filter { row in
            row.conversation == conversation && (after.map { $0 < row.ban.id } ?? true)
        }
        return Array(all.sorted { $0.ban.id < $1.ban.id }.prefix(limit))
    }

    func bans(endedBefore time: Date, limit: Int) -> [BanRow] {
        let all = moderation.bans.values.filter { $0.ban.until.map { $0 <= time } ?? false }
        return Array(all.sorted { ($0.ban.until ?? time) < ($1.ban.until ?? time) }.prefix(limit))
    }

    func report(_ number: Int64) -> ReportRow? { moderation.reports[number] }

    func report(of message: MessageID, in conversation: Int64, by reporter: UserID) -> ReportRow? {
        moderation.reports.values.first {
            $0.message == message && $0.conversation == conversation && $0.reporter == reporter
        }
    }

    func reports(isOpen: Bool?, below number: Int64, limit: Int) -> [ReportRow] {
        let all = moderation.reports.values.filter { row in
            row.number < number && (isOpen.map { $0 == row.isOpen } ?? true)
        }
        return Array(all.sorted { $0.number > $1.number }.prefix(limit))
    }

    func reports(by reporter: UserID, after number: Int64, limit: Int) -> [ReportRow] {
        let all = moderation.reports.values.filter { $0.number > number && $0.reporter == reporter }
        return Array(all.sorted { $0.number < $1.number }.prefix(limit))
    }

    func reports(about sender: UserID, after number: Int64, limit: Int) -> [ReportRow] {
        let all = moderation.reports.values.filter { $0.number > number && $0.sender == sender }
        return Array(all.sorted { $0.number < $1.number }.prefix(limit))
    }

    // MARK: Writing

    func changeModeration<Answer>(_ body: (inout MemoryModeration) -> Answer) -> Answer {
        let old = moderation
        undo.append { [unowned self] in moderation = old }
        return body(&moderation)
    }

    func putBlock(of other: UserID, by user: UserID, isOn: Bool) {
        changeModeration { $0.putBlock(of: other, by: user, isOn: isOn) }
    }
    func put(_ mute: Mute?, of user: UserID, in conversation: Int64) {
        changeModeration { $0.put(mute, of: user, in: conversation) }
    }

    func put(_ ban: BanRow) {
        changeModeration { $0.bans[.init(conversation: ban.conversation, user: ban.ban.id)] = ban }
    }

    func dropBan(of user: UserID, in conversation: Int64) {
        changeModeration { $0.bans[.init(conversation: conversation, user: user)] = nil }
    }

    func put(_ report: inout ReportRow) {
        if report.number == 0 { report.number = (moderation.reports.keys.max() ?? 0) + 1 }
        changeModeration { [report] in $0.reports[report.number] = report }
    }
}
