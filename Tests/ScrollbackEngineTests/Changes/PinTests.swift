import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("Pinned messages")
struct PinTests {
    private let group = ConversationID.group("g")
    private let harness: EngineHarness
    private let alice = Caller(user: "alice")
    private let bob = Caller(user: "bob")

    init() throws {
        harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
    }

    private func send(_ text: String) throws -> MessageID {
        let message = harness.submission(text)
        try harness.send(message, to: group, by: "alice")
        return message.id
    }

    private func pinned(by caller: Caller, limit: Int = 100) throws -> [String?] {
        var texts: [String?] = []
        var next: Seq?
        repeat {
            let page = try harness.engine.pinnedMessages(of: group, below: next, limit: limit, by: caller)
            texts += page.messages.map(\.text)
            next = page.next
        } while next != nil
        return texts
    }

    @Test("Members list pinned messages newest first, and every member unpins a message")
    func pins() throws {
        let ids = try ["one", "two", "three"].map { try send($0) }
        for id in [ids[2], ids[0]] { try harness.pin(id, in: group, by: bob) }
        #expect(try pinned(by: alice) == ["three", "one"])
        #expect(try pinned(by: alice, limit: 1) == ["three", "one"])
        let message = try harness.engine.message(ids[0], in: group, by: alice)
        #expect(message.isPinned && message.pinnedBy == "bob")
        #expect(refusal { try harness.pin(ids[0], in: group, by: alice) }?.code == .conflict)
        #expect(refusal { try harness.act("pin", "red", on: ids[1], in: group, by: alice) }?.parameter == "value")
        try harness.removeAction("pin", "pin", from: ids[0], in: group, by: alice)
        #expect(try pinned(by: bob) == ["three"])
        let again = refusal { try harness.removeAction("pin", "pin", from: ids[0], in: group, by: alice) }
        #expect(again?.code == .unknownMessage)
        // A recalled message is not pinned any longer.
        try harness.delete([ids[2]], in: group, by: alice)
        #expect(try pinned(by: bob).isEmpty)
        #expect(
            refusal { _ = try harness.engine.pinnedMessages(of: group, below: nil, limit: 101, by: bob) }?.parameter
                == "limit")
    }

    @Test("A conversation has at most 100 pinned messages")
    func maximum() throws {
        let ids = try (1...101).map { try send("\($0)") }
        for id in ids.prefix(100) { try harness.pin(id, in: group, by: alice) }
        let error = refusal { try harness.pin(ids[100], in: group, by: alice) }
        #expect(error?.code == .conflict && error?.limit == 100)
        try harness.removeAction("pin", "pin", from: ids[50], in: group, by: bob)
        try harness.pin(ids[100], in: group, by: alice)
        #expect(try pinned(by: bob).count == 100)
    }

    @Test("A pin is shown however many reactions a message has, and a former member sees the pins of their time")
    func reactionsAndFormerMembers() throws {
        let (first, second) = (try send("first"), try send("second"))
        for value in 1...32 { try harness.react("\(value)", to: first, in: group, by: bob) }
        try harness.pin(first, in: group, by: alice)
        #expect(try harness.engine.message(first, in: group, by: bob).isPinned)
        try harness.react("33", to: first, in: group, by: bob)
        #expect(try harness.engine.message(first, in: group, by: bob).actions.count == 33)
        try harness.removeAction("pin", "pin", from: first, in: group, by: alice)
        #expect(try harness.engine.message(first, in: group, by: bob).actions.count == 32)
        try harness.pin(first, in: group, by: alice)
        try harness.leave(group, "bob")
        try harness.pin(second, in: group, by: alice)
        #expect(try pinned(by: alice) == ["second", "first"])
        #expect(try pinned(by: bob) == ["first"])
    }

    @Test("The cursor of a former member does not reveal that a message was pinned later")
    func cursorOfFormerMember() throws {
        let ids = try ["one", "two", "three", "four"].map { try send($0) }
        for id in [ids[0], ids[2]] { try harness.pin(id, in: group, by: alice) }
        try harness.leave(group, "bob")
        for id in [ids[1], ids[3]] { try harness.pin(id, in: group, by: alice) }
        #expect(try pinned(by: alice, limit: 1) == ["four", "three", "two", "one"])
        #expect(try pinned(by: bob, limit: 1) == ["three", "one"])
        let page = try harness.engine.pinnedMessages(of: group, below: 3, limit: 1, by: bob)
        #expect(page.messages.map(\.text) == ["one"] && page.next == nil)
        #expect(try harness.engine.pinnedMessages(of: group, below: 1, limit: 1, by: bob).next == nil)
    }
}
