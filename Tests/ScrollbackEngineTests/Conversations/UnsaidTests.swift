import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("A direct conversation before its first message")
struct UnsaidTests {
    private let direct = ConversationID.direct(between: "alice", and: "bob")

    private func mute(by user: UserID, in world: World) throws {
        let change = StateChange.settings(isMuted: true, isPinned: nil)
        _ = try world.done { world.engine.change(direct, change, by: Caller(user: user), completion: $0) }
    }

    @Test("Settings of one user are invisible to the other user until the first message")
    func firstMessage() throws {
        let world = try World()
        let bob = Doors(world).device("bob")
        let before = try world.pass(by: "bob").cursor
        try mute(by: "alice", in: world)
        #expect(try world.head(direct, "alice").isMuted)
        #expect(try world.pass(by: "alice").heads.map(\.isMuted) == [true])
        #expect(try world.engine.recents(limit: 9, by: Caller(user: "alice")).heads.isEmpty)
        #expect(try bob.events.isEmpty)
        #expect(try world.pass(before, by: "bob").heads.isEmpty)
        #expect(refusal { _ = try world.head(direct, "bob") }?.code == .unknownConversation)

        try world.send("hi", to: direct, by: "alice")
        #expect(try bob.texts == ["hi"])
        #expect(try world.unread(direct, "bob") == Counts(1))
        #expect(try world.page(of: direct, by: "bob").texts == ["hi"])
        #expect(try world.pass(before, by: "bob").heads.map(\.unread) == [1])
        try world.read(direct, to: 1, by: "bob")
        let head = try world.head(direct, "alice")
        #expect((head.isMuted, head.unread, head.peerReadSeq) == (true, 0, 1))
    }

    @Test("The other user can send the first message without having received any event")
    func otherWrites() throws {
        let world = try World()
        try mute(by: "alice", in: world)
        try world.send("hi", to: direct, by: "bob")
        let head = try world.head(direct, "alice")
        #expect((head.isMuted, head.unread) == (true, 1))
        #expect(try world.head(direct, "bob").isMuted == false)
        try world.send("yes", to: direct, by: "alice")
        #expect(try world.unread(direct, "bob") == Counts(1))
    }

    @Test("Settings of both users are stored, and neither user is notified about the other's settings")
    func both() throws {
        let world = try World()
        let doors = Doors(world)
        let (alice, bob) = (doors.device("alice"), doors.device("bob"))
        try mute(by: "alice", in: world)
        let heard = try alice.events.count
        try mute(by: "bob", in: world)
        #expect(try alice.events.count == heard)
        for user: UserID in ["alice", "bob"] { #expect(try world.head(direct, user).isMuted) }
        try world.send("hi", to: direct, by: "alice")
        #expect(try bob.texts == ["hi"])
        #expect(try world.unread(direct, "bob") == Counts(1))
    }

    @Test("A deleted direct conversation is created again by the settings or the message of either user")
    func deleted() throws {
        let world = try World()
        try world.send("old", to: direct, by: "alice")
        try world.delete(direct)
        try mute(by: "alice", in: world)
        #expect(try world.head(direct, "alice").isMuted)
        #expect(refusal { _ = try world.head(direct, "bob") }?.code == .unknownConversation)
        try world.send("new", to: direct, by: "bob")
        for user: UserID in ["alice", "bob"] { #expect(try world.page(of: direct, by: user).texts == ["new"]) }
    }

    @Test("The other user can create the conversation with a put or an import, as if it did not exist")
    func otherDoors() throws {
        let world = try World()
        try mute(by: "alice", in: world)
        #expect(try world.put(direct, .init(metadata: RawJSON(known: "{}")), by: Caller(user: "bob")))
        for user: UserID in ["alice", "bob"] { #expect(try world.head(direct, user).isMuted == (user == "alice")) }

        let imported = try World()
        try mute(by: "alice", in: imported)
        try imported.importHistory([imported.said("old", by: "bob", at: imported.clock.now)], into: direct)
        for user: UserID in ["alice", "bob"] { #expect(try imported.page(of: direct, by: user).texts == ["old"]) }
    }
}
