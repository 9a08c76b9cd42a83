import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import TestSupport
import Testing

@Suite("A direct conversation before its first message")
struct EmptyDirectConversationTests {
    private let direct = ConversationID.direct(between: "alice", and: "bob")

    private func mute(by user: UserID, in harness: EngineHarness) throws {
        let change = StateChange.settings(isMuted: true, isPinned: nil)
        _ = try harness.done { harness.engine.change(direct, change, by: Caller(user: user), completion: $0) }
    }

    @Test("Settings of one user are invisible to the other user until the first message")
    func firstMessage() throws {
        let harness = try EngineHarness()
        let bob = SessionHarness(harness).device("bob")
        let before = try harness.pass(by: "bob").cursor
        try mute(by: "alice", in: harness)
        #expect(try harness.head(direct, "alice").isMuted)
        #expect(try harness.pass(by: "alice").heads.map(\.isMuted) == [true])
        #expect(try harness.engine.recents(limit: 9, by: Caller(user: "alice")).heads.isEmpty)
        #expect(try bob.events.isEmpty)
        #expect(try harness.pass(before, by: "bob").heads.isEmpty)
        #expect(refusal { _ = try harness.head(direct, "bob") }?.code == .unknownConversation)

        try harness.send("hi", to: direct, by: "alice")
        #expect(try bob.texts == ["hi"])
        #expect(try harness.unread(direct, "bob") == Counts(1))
        #expect(try harness.page(of: direct, by: "bob").texts == ["hi"])
        #expect(try harness.pass(before, by: "bob").heads.map(\.unread) == [1])
        try harness.read(direct, to: 1, by: "bob")
        let head = try harness.head(direct, "alice")
        #expect((head.isMuted, head.unread, head.peerReadSeq) == (true, 0, 1))
    }

    @Test("The other user can send the first message without having received any event")
    func otherUserSendsFirstMessage() throws {
        let harness = try EngineHarness()
        try mute(by: "alice", in: harness)
        try harness.send("hi", to: direct, by: "bob")
        let head = try harness.head(direct, "alice")
        #expect((head.isMuted, head.unread) == (true, 1))
        #expect(try harness.head(direct, "bob").isMuted == false)
        try harness.send("yes", to: direct, by: "alice")
        #expect(try harness.unread(direct, "bob") == Counts(1))
    }

    @Test("Settings of both users are stored, and neither user is notified about the other's settings")
    func settingsOfBothUsersArePrivate() throws {
        let harness = try EngineHarness()
        let sessions = SessionHarness(harness)
        let (alice, bob) = (sessions.device("alice"), sessions.device("bob"))
        try mute(by: "alice", in: harness)
        let received = try alice.events.count
        try mute(by: "bob", in: harness)
        #expect(try alice.events.count == received)
        for user: UserID in ["alice", "bob"] { #expect(try harness.head(direct, user).isMuted) }
        try harness.send("hi", to: direct, by: "alice")
        #expect(try bob.texts == ["hi"])
        #expect(try harness.unread(direct, "bob") == Counts(1))
    }

    @Test("A deleted direct conversation is created again by the settings or the message of either user")
    func deletedDirectConversationIsRecreated() throws {
        let harness = try EngineHarness()
        try harness.send("old", to: direct, by: "alice")
        try harness.delete(direct)
        try mute(by: "alice", in: harness)
        #expect(try harness.head(direct, "alice").isMuted)
        #expect(refusal { _ = try harness.head(direct, "bob") }?.code == .unknownConversation)
        try harness.send("new", to: direct, by: "bob")
        for user: UserID in ["alice", "bob"] { #expect(try harness.page(of: direct, by: user).texts == ["new"]) }
    }

    @Test("The other user can create the conversation with a put or an import, as if it did not exist")
    func otherUserCreatesByPutOrImport() throws {
        let harness = try EngineHarness()
        try mute(by: "alice", in: harness)
        #expect(try harness.put(direct, .init(metadata: RawJSON(known: "{}")), by: Caller(user: "bob")))
        for user: UserID in ["alice", "bob"] { #expect(try harness.head(direct, user).isMuted == (user == "alice")) }

        let imported = try EngineHarness()
        try mute(by: "alice", in: imported)
        try imported.importHistory([imported.importedMessage("old", by: "bob", at: imported.clock.now)], into: direct)
        for user: UserID in ["alice", "bob"] { #expect(try imported.page(of: direct, by: user).texts == ["old"]) }
    }
}
