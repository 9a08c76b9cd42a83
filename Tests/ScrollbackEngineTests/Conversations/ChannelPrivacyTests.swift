import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("Private channels and changes of privacy")
struct ChannelPrivacyTests {
    private let town = ConversationID.community("town")
    private let channel = ConversationID.community("town", channel: "x")
    private let alice = Caller(user: "alice")

    /// Returns a harness with a channel that was private and is public now.
    ///
    /// Alice is a member of the community from the beginning and joined the channel after five messages.
    private func madePublic() throws -> EngineHarness {
        let harness = try EngineHarness()
        try harness.make(town, members: ["alice", "bob"])
        try harness.put(channel, .init(isPrivate: true, members: ["bob"]))
        for _ in 1...5 { try harness.send(to: channel, by: "bob") }
        try harness.join(channel, "alice")
        try harness.put(channel, .init(isPrivate: false))
        return harness
    }

    @Test("Unread counts of a channel that became public start at the community join, and sending reads nothing")
    func unread() throws {
        let harness = try madePublic()
        #expect(try harness.unread(channel, "alice") == Counts(5))
        try harness.send("mine", to: channel, by: "alice")
        #expect(try harness.unread(channel, "alice") == Counts(5))
        try harness.read(channel, to: 5, by: "alice")
        #expect(try harness.unread(channel, "alice") == Counts(0))
    }

    @Test(
        "Unread marks include messages from before a channel became public, and none from before the join"
    )
    func marks() throws {
        let harness = try madePublic()
        let marks = try harness.engine.marks(ReadScope(), by: alice)
        #expect(marks.map(\.conversation) == [channel] && marks.map(\.position.seq) == [5])
        try harness.perform(MarkSeveralRead(marks), by: alice)
        #expect(try harness.unread(channel, "alice") == Counts(0))
        #expect(try harness.engine.marks(ReadScope(), by: alice).isEmpty)
        try harness.join(town, "carol")
        #expect(try harness.engine.marks(ReadScope(), by: Caller(user: "carol")).isEmpty)
    }

    @Test("An owner who makes a channel private becomes its owner and can add members")
    func madePrivate() throws {
        let harness = try EngineHarness()
        try harness.make(town, members: ["alice", "bob"])
        try harness.join(town, "alice", as: .owner)
        try harness.put(channel, by: alice)
        let device = SessionHarness(harness).device("alice")
        device.request(Subscribe([channel]))
        try harness.put(channel, .init(isPrivate: true), by: alice)
        #expect(
            try harness.engine.members(of: channel, after: nil, limit: 9, by: alice) == [
                Member(id: "alice", role: .owner)
            ])
        #expect(refusal { _ = try harness.head(channel, "bob") }?.code == .unknownConversation)
        #expect(try harness.join(channel, "bob", by: alice))
        try harness.send("hello", to: channel, by: "bob")
        #expect(try device.texts == ["hello"])
        #expect(try harness.put(channel, .init(name: "X"), by: alice) == false)
    }

    @Test("Members of a channel that becomes private again stay subscribed, and other subscribers don't")
    func privateAgain() throws {
        let harness = try madePublic()
        try harness.join(town, "carol")
        let sessions = SessionHarness(harness)
        let (alice, carol) = (sessions.device("alice"), sessions.device("carol"))
        carol.request(Subscribe([channel]))
        try harness.put(channel, .init(isPrivate: true))
        let seq = try harness.send("hello", to: channel, by: "bob")
        #expect(try alice.texts == ["hello"])
        #expect(try carol.texts == [])
        // Alice joined the channel after five messages, and sees changes of later ones only.
        let ids = try harness.page(of: channel, by: "bob").messages.filter { [5, seq].contains($0.seq) }.map(\.id)
        for id in ids { try harness.react("👍", to: id, in: channel, by: Caller(user: "bob")) }
        let changed = try alice.events.compactMap { event -> Seq? in
            if case .changed(_, _, .message(let message)) = event { message.seq } else { nil }
        }
        #expect(changed == [seq])
    }

    @Test("A channel moderator can't remove a member who has a higher role in the community")
    func ranks() throws {
        let harness = try EngineHarness()
        try harness.make(town, members: ["alice", "bob", "mod"])
        try harness.join(town, "alice", as: .owner)
        try harness.put(channel, .init(isPrivate: true, members: ["alice", "bob", "mod"]))
        try harness.join(channel, "mod", as: .moderator)
        let moderator = Caller(user: "mod")
        #expect(refusal { try harness.leave(channel, "alice", by: moderator) }?.code == .forbidden)
        try harness.leave(channel, "bob", by: moderator)
    }
}
