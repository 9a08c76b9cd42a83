import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("Lists for administrators")
struct ListTests {
    private func harness() throws -> EngineHarness {
        let harness = try EngineHarness()
        for name: Identifier in ["g1", "g2", "h1"] { try harness.make(.group(name), members: ["alice", "bob"]) }
        try harness.make(.community("town"), members: ["alice"])
        try harness.put(.room("lobby"))
        try harness.send("hi", to: .direct(between: "alice", and: "bob"), by: "alice")
        try harness.delete(.group("g2"))
        return harness
    }

    @Test("Conversations are listed by kind and name, each once, without deleted ones")
    func conversations() throws {
        let harness = try harness()
        var found: [String] = []
        var after: ConversationID?
        repeat {
            let page = try harness.engine.conversations(
                kind: nil, prefix: "", after: after, limit: 2, by: EngineHarness.admin)
            found += page.conversations.map(\.conversation.description)
            after = page.next
        } while after != nil
        #expect(
            Set(found) == [
                "direct:alice/bob", "group:g1", "group:h1", "community:town", "community:town/default", "room:lobby",
            ])
        #expect(found.count == 6)
        let groups = try harness.engine.conversations(
            kind: .group, prefix: "g", after: nil, limit: 9, by: EngineHarness.admin)
        #expect(groups.conversations.map(\.conversation) == [.group("g1")])
        let direct = try harness.engine.conversations(
            kind: .direct, prefix: "", after: nil, limit: 9, by: EngineHarness.admin)
        #expect(direct.conversations.first?.head == 1 && direct.conversations.first?.lastActivity != nil)
    }

    @Test("A user's conversations are listed in pages, with the user's membership")
    func memberships() throws {
        let harness = try harness()
        try harness.leave(.group("g1"), "alice")
        var found: [ConversationEntry] = []
        var after: Int64 = 0
        while true {
            let page = try harness.engine.conversations(of: "alice", after: after, limit: 2, by: EngineHarness.admin)
            found += page.conversations
            guard let next = page.next else { break }
            after = next
        }
        let standings = Dictionary(
            found.map { ($0.conversation.description, $0.membership?.standing) }, uniquingKeysWith: { $1 })
        #expect(
            standings == [
                "group:g1": "left", "group:h1": "member", "community:town": "member", "direct:alice/bob": "member",
            ])
    }

    @Test("Users are listed by name, with their ban or deactivation")
    func users() throws {
        let harness = try harness()
        try harness.setState(of: "bob", isActive: false)
        try harness.ban("alice", reason: "spam")
        let page = try harness.engine.users(prefix: "", state: nil, after: nil, limit: 1, by: EngineHarness.admin)
        #expect(page.users.map(\.profile.id) == ["alice"] && page.next == "alice")
        #expect(page.users.first?.ban?.reason == "spam")
        let rest = try harness.engine.users(prefix: "", state: nil, after: "alice", limit: 9, by: EngineHarness.admin)
        #expect(rest.users.map(\.profile.id) == ["bob"] && rest.next == nil)
        #expect(rest.users.first?.state == "deactivated")
        let out = try harness.engine.users(
            prefix: "b", state: .deactivated, after: nil, limit: 9, by: EngineHarness.admin)
        #expect(out.users.map(\.profile.id) == ["bob"])
        for limit in [0, 101] {
            #expect(
                refusal {
                    _ = try harness.engine.users(
                        prefix: "", state: nil, after: nil, limit: limit, by: EngineHarness.admin)
                }?.parameter == "limit")
        }
        let bob = Caller(user: "bob")
        #expect(
            refusal { _ = try harness.engine.users(prefix: "", state: nil, after: nil, limit: 9, by: bob) }?.code
                == .forbidden)
    }

    @Test("Connections are listed by user and device, and a closed connection may reconnect")
    func connections() throws {
        let harness = try harness()
        let sessions = SessionHarness(harness)
        let phone = sessions.device("alice", "phone")
        _ = sessions.device("alice", "desk")
        _ = sessions.device("bob", "phone")
        var found: [String] = []
        var after: (user: UserID, device: String)?
        repeat {
            let page = try harness.engine.connections(of: nil, after: after, limit: 1, by: EngineHarness.admin)
            found += page.connections.map { "\($0.user) \($0.device)" }
            after = page.next
        } while after != nil
        #expect(found == ["alice desk", "alice phone", "bob phone"])
        let own = try harness.engine.connections(of: "alice", after: nil, limit: 9, by: EngineHarness.admin)
        #expect(own.connections.count == 2 && own.connections.allSatisfy { $0.isActive && $0.subscriptions > 0 })
        #expect(try harness.engine.closeConnections(of: "alice", device: "phone", by: EngineHarness.admin) == 1)
        #expect(phone.transport.closes == [.restarting])
        #expect(try harness.engine.closeConnections(of: "alice", device: nil, by: EngineHarness.admin) == 1)
        #expect(try harness.engine.closeConnections(of: "alice", device: nil, by: EngineHarness.admin) == 0)
        #expect(harness.connectionRefusal("alice") == nil)
    }

    @Test("The pages of connections contain every user, even with one device each", arguments: [1, 2, 5])
    func manyConnections(_ limit: Int) throws {
        let harness = try harness()
        let sessions = SessionHarness(harness)
        let users = (1...12).map { UserID(known: "user\($0 + 10)") }
        for user in users { _ = sessions.device(user.text, "phone") }
        var found: [UserID] = []
        var after: (user: UserID, device: String)?
        repeat {
            let page = try harness.engine.connections(of: nil, after: after, limit: limit, by: EngineHarness.admin)
            found += page.connections.map(\.user)
            after = page.next
        } while after != nil
        #expect(found == users)
    }

    // MARK: Reports

    @Test("A report keeps the message as it was, regardless of later changes")
    func reports() throws {
        let harness = try harness()
        let direct = ConversationID.direct(between: "alice", and: "bob")
        let message = harness.submission("bad words")
        try harness.send(message, to: direct, by: "alice")
        let number = try harness.report(message.id, in: direct, .harassment, text: "look", by: "bob")
        try harness.edit(message.id, in: direct, "nice words", by: Caller(user: "alice"))
        try harness.delete(message.id, in: direct, by: Caller(user: "alice"))
        let report = try harness.perform(GetReport(number: number), by: EngineHarness.admin)
        #expect(report.content?.text.contains("bad words") == true && report.sender == "alice")
        #expect(report.reason == .harassment && report.text == "look" && report.isOpen)
        #expect(report.conversation == direct)
        // Another report of the same message reopens the closed report under its number.
        let closed = try harness.perform(
            PutReport(number: number, isOpen: false, note: "warned"), by: EngineHarness.admin)
        #expect(!closed.isOpen && closed.note == "warned" && closed.closedBy == "root")
        #expect(try harness.perform(ListReports(isOpen: true, page: Paging()), by: EngineHarness.admin).reports.isEmpty)
        #expect(try harness.report(message.id, in: direct, .spam, by: "bob") == number)
        let again = try harness.perform(GetReport(number: number), by: EngineHarness.admin)
        #expect(again.isOpen && again.reason == .spam && again.text == nil && again.note == "warned")
        #expect(again.closedBy == nil && again.closedAt == nil)
        #expect(again.content == report.content)
        // A deleted message can't be reported, and neither can a message that the user can't see.
        #expect(refusal { try harness.report(message.id, in: direct, by: "alice") }?.code == .conflict)
        #expect(refusal { try harness.report(message.id, in: direct, by: "carol") }?.code == .unknownConversation)
        #expect(refusal { try harness.report(harness.newID(), in: direct, by: "bob") }?.code == .unknownMessage)
        let get = GetReport(number: number)
        #expect(refusal { try harness.perform(get, by: Caller(user: "bob")) }?.code == .forbidden)
        #expect(refusal { try harness.perform(GetReport(number: 99), by: EngineHarness.admin) }?.code == .unknownReport)
    }

    @Test("The webhook gets new reports")
    func webhook() throws {
        let harness = try EngineHarness(webhooks: FakeWebhookReceiver())
        try harness.make(.group("g"), members: ["alice", "bob"])
        let message = harness.submission("bad")
        try harness.send(message, to: .group("g"), by: "alice")
        try harness.set {
            $0.moderation.webhooks.after = .init(url: "https://example.org/hook", secret: "0123456789abcdef")
        }
        try harness.report(message.id, in: .group("g"), by: "bob")
        let number = try #require(try harness.store.read { try $0.conversation(.group("g")) }).number
        let bodies = try harness.store.read { try $0.deliveries(to: "after", of: number, limit: 9) }.map(\.body.text)
        #expect(bodies.count == 1 && bodies[0].hasPrefix(#"{"event":"report","report":{"number":1,"state":"open""#))
    }
}
