import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import TestSupport
import Testing

@Suite("Audit log")
struct AuditTests {
    private let group = ConversationID.group("g")
    private let admin = Caller(
        user: "root", isAdmin: true,
        token: TokenSource(key: "key-1", issuedAt: Date(timeIntervalSince1970: 1_000)))
    private let alice = Caller(user: "alice")

    private func harness() throws -> EngineHarness {
        let harness = try EngineHarness()
        try harness.put(group, .init(members: ["alice", "bob", "carol"]), by: admin)
        try harness.join(group, "alice", as: .moderator, by: admin)
        return harness
    }

    private func acts(
        _ harness: EngineHarness, actor: UserID? = nil, user: UserID? = nil, action: AuditRow.Action? = nil
    ) throws -> [AuditRow] {
        let list = ListAudit(actor: actor, user: user, action: action, page: Paging(limit: 100))
        return try harness.perform(list, by: admin).acts.map(\.row)
    }

    private func summary(_ row: AuditRow) -> String {
        [row.actor.text, row.action, row.user?.text, row.detail].compactMap { $0 }.joined(separator: " ")
    }

    @Test("Acts of administrators and moderators are recorded, and those of members on themselves are not")
    func actsAreRecorded() async throws {
        let harness = try harness()
        let message = harness.submission("one"), own = harness.submission("two")
        try harness.send(message, to: group, by: "bob")
        try harness.send(own, to: group, by: "alice")
        try harness.report(message.id, in: group, by: "carol")
        let before = try acts(harness).count
        try harness.delete(own.id, in: group, by: alice)
        try harness.read(group, to: 1, by: "bob")
        try harness.leave(group, "carol", by: Caller(user: "carol"))
        #expect(try acts(harness).count == before)

        try harness.delete([message.id], in: group, by: alice)
        try harness.mute("bob", .forever, in: group, by: alice)
        try harness.mute("bob", nil, in: group, by: alice)
        try harness.ban("bob", from: group, by: alice)
        try harness.unban("bob", from: group, by: alice)
        #expect(
            try acts(harness, actor: "alice").reversed().map(summary) == [
                "alice delete-messages bob 1", "alice mute bob", "alice unmute bob", "alice ban bob",
                "alice unban bob",
            ])

        try harness.ban("bob", by: admin)
        try harness.unban("bob", by: admin)
        try harness.setState(of: "bob", isActive: false, by: admin)
        try harness.setState(of: "bob", isActive: true, by: admin)
        try harness.perform(RevokeTokens(user: "bob"), by: admin)
        try harness.perform(CloseConnections(user: "bob"), by: admin)
        try harness.perform(PutReport(number: 1, isOpen: false), by: admin)
        let _: UserProfile = try harness.done {
            harness.engine.putUser("bob", ProfileChange(name: "Bob"), by: admin, completion: $0)
        }
        try harness.put(group, ConversationSettings(name: "G"), by: admin)
        try harness.join(group, "carol", by: admin)
        try harness.leave(group, "carol", by: admin)
        try harness.delete(.all, of: group, by: admin)
        try harness.delete(group, by: admin)
        #expect(
            try acts(harness, actor: "root").reversed().map(summary) == [
                "root change-role alice moderator", "root ban bob", "root unban bob", "root deactivate bob",
                "root activate bob", "root revoke-tokens bob", "root close-connections bob",
                "root update-report report 1 closed", "root change-profile bob", "root change-conversation",
                "root remove-member carol", "root delete-history seq 1...2", "root delete-conversation",
            ])
        let rows = try acts(harness, actor: "root")
        #expect(rows.allSatisfy { $0.token == admin.token })
    }

    @Test("The log is filtered, paged and for administrators only, and names the changed settings")
    func listing() throws {
        let harness = try harness()
        var body = JSONReader(#"{"replayDays":3,"auditDays":30}"#)
        var request = RequestReader(path: [:], query: [:], body: try JSONMembers(&body), limits: .standard)
        try harness.perform(PutSettings(from: &request), by: admin)
        let change = try #require(try acts(harness, action: .changeSettings).first)
        #expect(change.detail == "replayDays, auditDays" && change.actor == "root" && change.conversation == 0)
        for user in ["bob", "carol"] as [UserID] { try harness.ban(user, from: group, by: alice) }
        func page(_ cursor: String?) throws -> (users: [UserID?], cursor: String?) {
            let answer = try harness.perform(
                ListAudit(conversation: group, action: .ban, page: Paging(limit: 1, cursor: cursor)), by: admin)
            return (answer.acts.map(\.row.user), answer.next.map { String($0) })
        }
        let first = try page(nil)
        #expect(first.users == ["carol"])
        let second = try page(first.cursor)
        #expect(second.users == ["bob"] && second.cursor == nil)
        #expect(try acts(harness, user: "carol").map(\.action) == ["ban"])
        let list = ListAudit(page: Paging())
        #expect(refusal { try harness.perform(list, by: alice) }?.code == .forbidden)
        let unknown = ListAudit(conversation: .group("none"), page: Paging())
        #expect(refusal { try harness.perform(unknown, by: admin) }?.code == .unknownConversation)
    }

    @Test("An act that is refused or has no effect is not recorded")
    func refusals() throws {
        let harness = try harness()
        let before = try acts(harness).count
        #expect(refusal { try harness.ban("alice", from: group, by: Caller(user: "bob")) }?.code == .forbidden)
        #expect(refusal { try harness.ban("bob", by: alice) }?.code == .forbidden)
        try harness.unban("bob", by: admin)
        try harness.setState(of: "bob", isActive: true, by: admin)
        try harness.mute("bob", nil, in: group, by: alice)
        #expect(try acts(harness).count == before)
    }

    @Test("Entries expire after `auditDays`, and an erasure replaces the user whom they concern")
    func expiryAndErasure() async throws {
        let harness = try harness()
        try harness.ban("bob", from: group, by: alice)
        try await harness.erase("bob", .keep)
        #expect(try acts(harness, user: "bob").isEmpty)
        let erased = try acts(harness, action: .erase)
        #expect(erased.count == 1 && erased[0].user?.text.hasPrefix("deleted-") == true && erased[0].detail == "keep")
        try harness.set { $0.auditDays = 2 }
        let count = try acts(harness).count
        harness.clock.advance(by: 2 * 86_400 - 1)
        try await harness.engine.prune()
        #expect(try acts(harness).count == count)
        harness.clock.advance(by: 3600)
        try await harness.engine.prune()
        #expect(try acts(harness).isEmpty)
    }
}
