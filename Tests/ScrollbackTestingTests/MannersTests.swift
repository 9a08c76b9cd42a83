import ContractRows
import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import Testing

@Suite("Typing, blocking and word filters in the client")
struct MannersTests {
    private let group = ConversationID.group("swift")

    private func world() async throws -> (world: ChatWorld, alice: ChatClient, bob: ChatClient) {
        let world = try ChatWorld(users: ["alice", "bob"])
        try await world.makeGroup("swift", members: ["alice", "bob"])
        let (alice, bob) = (try await world.client("alice"), try await world.client("bob"))
        for client in [alice, bob] { try await client.ready() }
        return (world, alice, bob)
    }

    private func typists(_ chat: Conversation) async -> [UserID] {
        for await users in chat.typing { return users }
        return []
    }

    @Test("A typing user shows until their message arrives, they stop, or they time out")
    func typing() async throws {
        let (world, alice, bob) = try await world()
        let (hers, his) = (alice.conversation(group), bob.conversation(group))
        hers.setTyping(true)
        #expect(try await eventually { await typists(his) == ["alice"] })
        #expect(await typists(hers) == [])
        try await hers.send(.text("hi"))
        #expect(try await eventually { await typists(his) == [] })
        try await Task.sleep(for: .seconds(1.1))
        hers.setTyping(true)
        #expect(try await eventually { await typists(his) == ["alice"] })
        hers.setTyping(false)
        #expect(try await eventually { await typists(his) == [] })
        try await Task.sleep(for: .seconds(1.1))
        hers.setTyping(true)
        #expect(try await eventually { await typists(his) == ["alice"] })
        // A disconnected user sends no event when they stop typing.
        world.goOffline("alice")
        #expect(
            try await {
                for _ in 0..<90 {
                    if await typists(his) == [] { return true }
                    try await Task.sleep(for: .milliseconds(100))
                }
                return false
            }())
        await world.close()
    }

    @Test("Continuous typing sends one request every three seconds and ends on its own")
    func typingIsPaced() async throws {
        let (world, alice, bob) = try await world()
        for _ in 0..<20 {
            alice.conversation(group).setTyping(true)
        }
        #expect(try await eventually { world.requests(of: "alice")["typing"] == 1 })
        #expect(
            try await {
                for _ in 0..<80 {
                    if world.requests(of: "alice")["typing"] == 2 { return true }
                    try await Task.sleep(for: .milliseconds(100))
                }
                return false
            }())
        #expect(try await eventually { await typists(bob.conversation(group)) == [] })
        await world.close()
    }

    @Test("A blocked user's message fails with the reason", .rows(88))
    func blocking() async throws {
        let (world, alice, bob) = try await world()
        try await bob.block("alice")
        #expect(try await bob.blockedUsers() == ["alice"])
        let sending = try await alice.conversation(.direct("bob")).send(.text("hi"))
        await #expect(throws: ChatError(.blocked, "bob has blocked you.")) { try await sending.delivered() }
        try await bob.unblock("alice")
        #expect(try await bob.blockedUsers() == [])
        try await sending.retry()
        #expect(try await sending.delivered().text == "hi")
        await world.close()
    }

    @Test("The sender's client shows the stored text after words were replaced", .rows(88))
    func replacedWords() async throws {
        let (world, alice, bob) = try await world()
        try await world.set { $0.manners.bannedWords = .init(words: ["spam"], action: .replace) }
        let sending = try await alice.conversation(group).send(.text("no spam"))
        #expect(try await sending.delivered().text == "no ****")
        #expect(try await eventually { try await bob.texts(in: group) == ["no ****"] })
        #expect(try await alice.texts(in: group) == ["no ****"])
        #expect(try await alice.verifyIntegrity() == [])
        await world.close()
    }

    @Test("A retry after a lost answer returns the replaced text and stores one message", .rows(88, 91))
    func replacedAndLost() async throws {
        let (world, alice, _) = try await world()
        try await world.set { $0.manners.bannedWords = .init(words: ["spam"], action: .replace) }
        world.loseNextAcknowledgement(of: "alice")
        let sending = try await alice.conversation(group).send(.text("no spam"))
        #expect(try await sending.delivered().text == "no ****")
        #expect(try world.messages(in: group).count == 1)
        await world.close()
    }

    @Test("A refused message fails permanently, and the next message is sent", .rows(88, 86))
    func refused() async throws {
        let (world, alice, _) = try await world()
        try await world.set { $0.manners.bannedWords = .init(words: ["spam"], action: .reject) }
        let chat = alice.conversation(group)
        let bad = try await chat.send(.text("spam"))
        let good = try await chat.send(.text("fine"))
        #expect(try await good.delivered().text == "fine")
        let error = await #expect(throws: ChatError.self) { try await bad.delivered() }
        #expect(error?.code == .contentRejected)
        try await world.mute("alice", .forever, in: group)
        let muted = try await chat.send(.text("more"))
        let refusal = await #expect(throws: ChatError.self) { try await muted.delivered() }
        #expect(refusal?.code == .muted)
        await world.close()
    }

    @Test(
        "A user's other clients show messages sent in groups, direct conversations and rooms, and get commands")
    func otherDevices() async throws {
        let (world, phone, _) = try await world()
        try await world.makeRoom("lobby")
        let laptop = try await world.client("alice")
        let room = ConversationID.room("lobby")
        let subscription = laptop.conversation(room).subscribe()
        for await state in subscription.states where state == .live { break }
        let events = laptop.events
        for id in [group, .direct("bob"), room] {
            _ = try await phone.conversation(id).send(.text("to \(id)")).delivered()
            #expect(try await eventually { try await laptop.texts(in: id) == ["to \(id)"] })
        }
        try await phone.conversation(group).send(.command("play"))
        for await event in events {
            guard case .transient(let message) = event else { continue }
            #expect(message.content.command?.name == "play" && message.sender == "alice")
            break
        }
        await world.close()
    }
}
