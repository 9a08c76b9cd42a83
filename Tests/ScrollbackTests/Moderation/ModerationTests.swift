import ContractRows
import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import TestSupport
import Testing

@Suite("Typing, blocking and word filters in the client")
struct ModerationTests {
    private let group = ConversationID.group("swift")

    private func server() async throws -> (server: TestServer, alice: ChatClient, bob: ChatClient) {
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let (alice, bob) = (try await server.client("alice"), try await server.client("bob"))
        for client in [alice, bob] { try await client.ready() }
        return (server, alice, bob)
    }

    private func typists(_ chat: Conversation) async -> [UserID] {
        for await users in chat.typing { return users }
        return []
    }

    @Test("A typing user shows until their message arrives, they stop, or they time out")
    func typing() async throws {
        let (server, alice, bob) = try await server()
        let (hers, his) = (alice.conversation(group), bob.conversation(group))
        /// Types until Bob's client shows it. A typing signal ends after a few seconds, and a busy machine can miss it.
        func shows() async throws -> Bool {
            try await eventually {
                hers.setTyping(true)
                return await typists(his) == ["alice"]
            }
        }
        #expect(try await shows())
        #expect(await typists(hers) == [])
        try await hers.send(.text("hi"))
        #expect(try await eventually { await typists(his) == [] })
        try await Task.sleep(for: .seconds(1.1))
        #expect(try await shows())
        hers.setTyping(false)
        #expect(try await eventually { await typists(his) == [] })
        try await Task.sleep(for: .seconds(1.1))
        #expect(try await shows())
        // A disconnected user sends no event when they stop typing.
        server.goOffline("alice")
        #expect(try await eventually { await typists(his) == [] })
        await server.close()
    }

    @Test("Continuous typing sends one request every three seconds and ends on its own")
    func typingIsPaced() async throws {
        let (server, alice, bob) = try await server()
        for _ in 0..<20 {
            alice.conversation(group).setTyping(true)
        }
        #expect(try await eventually { server.requests(of: "alice")["typing"] == 1 })
        #expect(try await eventually { server.requests(of: "alice")["typing"] == 2 })
        #expect(try await eventually { await typists(bob.conversation(group)) == [] })
        await server.close()
    }

    @Test("A blocked user's message fails with the reason", .rows(88))
    func blocking() async throws {
        let (server, alice, bob) = try await server()
        try await bob.block("alice")
        #expect(try await bob.blockedUsers() == ["alice"])
        let sending = try await alice.conversation(.direct("bob")).send(.text("hi"))
        await #expect(throws: ChatError(.blocked, "bob has blocked you.")) { try await sending.waitUntilSent() }
        try await bob.unblock("alice")
        #expect(try await bob.blockedUsers() == [])
        try await sending.retry()
        #expect(try await sending.waitUntilSent().text == "hi")
        await server.close()
    }

    @Test("The sender's client shows the stored text after words were replaced", .rows(88))
    func replacedWords() async throws {
        let (server, alice, bob) = try await server()
        try await server.set { $0.moderation.bannedWords = .init(words: ["spam"], action: .replace) }
        let sending = try await alice.conversation(group).send(.text("no spam"))
        #expect(try await sending.waitUntilSent().text == "no ****")
        #expect(try await eventually { try await bob.texts(in: group) == ["no ****"] })
        #expect(try await alice.texts(in: group) == ["no ****"])
        #expect(try await alice.verifyIntegrity() == [])
        await server.close()
    }

    @Test("A retry after a lost answer returns the replaced text and stores one message", .rows(88, 91))
    func retryReturnsTheReplacedText() async throws {
        let (server, alice, _) = try await server()
        try await server.set { $0.moderation.bannedWords = .init(words: ["spam"], action: .replace) }
        server.loseNextAcknowledgement(of: "alice")
        let sending = try await alice.conversation(group).send(.text("no spam"))
        #expect(try await sending.waitUntilSent().text == "no ****")
        #expect(try server.messages(in: group).count == 1)
        await server.close()
    }

    @Test("A refused message fails permanently, and the next message is sent", .rows(88, 86))
    func refused() async throws {
        let (server, alice, _) = try await server()
        try await server.set { $0.moderation.bannedWords = .init(words: ["spam"], action: .reject) }
        let chat = alice.conversation(group)
        let bad = try await chat.send(.text("spam"))
        let good = try await chat.send(.text("fine"))
        #expect(try await good.waitUntilSent().text == "fine")
        let error = await #expect(throws: ChatError.self) { try await bad.waitUntilSent() }
        #expect(error?.code == .contentRejected)
        try await server.mute("alice", .forever, in: group)
        let muted = try await chat.send(.text("more"))
        let refusal = await #expect(throws: ChatError.self) { try await muted.waitUntilSent() }
        #expect(refusal?.code == .muted)
        await server.close()
    }

    @Test(
        "A user's other clients show messages sent in groups, direct conversations and rooms, and get commands")
    func otherDevices() async throws {
        let (server, phone, _) = try await server()
        try await server.makeRoom("lobby")
        let laptop = try await server.client("alice")
        let room = ConversationID.room("lobby")
        let subscription = laptop.conversation(room).subscribe()
        for await state in subscription.states where state == .live { break }
        let events = laptop.events
        for id in [group, .direct("bob"), room] {
            _ = try await phone.conversation(id).send(.text("to \(id)")).waitUntilSent()
            #expect(try await eventually { try await laptop.texts(in: id) == ["to \(id)"] })
        }
        try await phone.conversation(group).send(.command("play"))
        for await event in events {
            guard case .transient(let message) = event else { continue }
            #expect(message.content.command?.name == "play" && message.sender == "alice")
            break
        }
        await server.close()
    }
}
