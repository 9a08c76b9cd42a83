import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("Private channels and changes of privacy")
struct ChannelPrivacyTests {
    private let town = ConversationID.community("town")
    private let channel = ConversationID.community("town", channel: "x")
    private let alice = Caller(user: "alice")

    /// Returns a world with a channel that was private and is public now.
    ///
    /// Alice is a member of the community from the beginning and joined the channel after five messages.
    private func madePublic() throws -> World {
        let world = try World()
        try world.make(town, members: ["alice", "bob"])
        try world.put(channel, .init(isPrivate: true, members: ["bob"]))
        for _ in 1...5 { try world.send(to: channel, by: "bob") }
        try world.join(channel, "alice")
        try world.put(channel, .init(isPrivate: false))
        return world
    }

    @Test("Unread counts of a channel that became public start at the community join, and sending reads nothing")
    func unread() throws {
        let world = try madePublic()
        #expect(try world.unread(channel, "alice") == Counts(5))
        try world.send("mine", to: channel, by: "alice")
        #expect(try world.unread(channel, "alice") == Counts(5))
        try world.read(channel, to: 5, by: "alice")
        #expect(try world.unread(channel, "alice") == Counts(0))
    }

    @Test(
        "Unread marks include messages from before a channel became public, and none from before the join"
    )
    func marks() throws {
        let world = try madePublic()
        let marks = try world.engine.marks(ReadScope(), by: alice)
        #expect(marks.map(\.conversation) == [channel] && marks.map(\.place.seq) == [5])
        _ = try world.done { world.engine.read(marks, by: alice, completion: $0) }
        #expect(try world.unread(channel, "alice") == Counts(0))
        #expect(try world.engine.marks(ReadScope(), by: alice).isEmpty)
        try world.join(town, "carol")
        #expect(try world.engine.marks(ReadScope(), by: Caller(user: "carol")).isEmpty)
    }

    @Test("An owner who makes a channel private becomes its owner and can add members")
    func madePrivate() throws {
        let world = try World()
        try world.make(town, members: ["alice", "bob"])
        try world.join(town, "alice", as: .owner)
        try world.put(channel, by: alice)
        let device = Doors(world).device("alice")
        device.request(Subscribe([channel]))
        try world.put(channel, .init(isPrivate: true), by: alice)
        #expect(
            try world.engine.members(of: channel, after: nil, limit: 9, by: alice) == [
                Member(id: "alice", role: .owner)
            ])
        #expect(refusal { _ = try world.head(channel, "bob") }?.code == .unknownConversation)
        #expect(try world.join(channel, "bob", by: alice))
        try world.send("hello", to: channel, by: "bob")
        #expect(try device.texts == ["hello"])
        #expect(try world.put(channel, .init(name: "X"), by: alice) == false)
    }

    @Test("A channel moderator can't remove a member who has a higher role in the community")
    func ranks() throws {
        let world = try World()
        try world.make(town, members: ["alice", "bob", "mod"])
        try world.join(town, "alice", as: .owner)
        try world.put(channel, .init(isPrivate: true, members: ["alice", "bob", "mod"]))
        try world.join(channel, "mod", as: .moderator)
        let moderator = Caller(user: "mod")
        #expect(refusal { try world.leave(channel, "alice", by: moderator) }?.code == .forbidden)
        try world.leave(channel, "bob", by: moderator)
    }
}
