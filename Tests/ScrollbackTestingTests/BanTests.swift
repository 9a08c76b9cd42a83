import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import ScrollbackWire
import Testing

@Suite("Bans and reports on a device", .timeLimit(.minutes(10)))
struct BanTests {
    private let admin = Caller(user: "admin", isAdmin: true)

    private func online(_ world: ChatWorld, _ user: UserID) async throws -> ChatClient {
        let client = try await world.client(user)
        try await client.ready()
        return client
    }

    @Test("A moderator bans a member, who is told by their next message, until the ban is taken back")
    func group() async throws {
        let world = try ChatWorld(users: ["alice", "bob"])
        try await world.makeGroup("swift", members: ["alice", "bob"])
        let id = ConversationID.group("swift")
        try await world.perform { $0.putMember("alice", role: .moderator, of: id, by: admin, completion: $1) }
        let (alice, bob) = (try await online(world, "alice"), try await online(world, "bob"))
        let chat = alice.conversation(id)
        let until = Date(timeIntervalSinceNow: 3600)
        try await chat.ban("bob", until: until, reason: "spam")
        let ban = try #require(try await chat.bans().first)
        #expect(ban.id == "bob" && ban.reason == "spam" && ban.by == "alice")
        #expect(abs(ban.until?.timeIntervalSince(until) ?? 9) < 0.01)
        let error = await #expect(throws: ChatError.self) {
            _ = try await bob.conversation(id).send(.text("hi")).delivered()
        }
        #expect(error?.code == .banned && error?.reason == "spam" && error?.until != nil)
        await #expect(throws: ChatError.self) { try await bob.conversation(id).ban("alice") }
        try await chat.unban("bob")
        #expect(try await chat.bans().isEmpty)
        await #expect(throws: ChatError.self) { try await chat.ban("bob", reason: "") }
        await world.close()
    }

    @Test("A community's moderator bans from all its channels, whether they name the community or its default channel")
    func community() async throws {
        let world = try ChatWorld(users: ["alice", "bob"])
        try await world.makeCommunity("city", channels: ["open"], members: ["alice", "bob"])
        let city = ConversationID.community("city")
        try await world.perform { $0.putMember("alice", role: .moderator, of: city, by: admin, completion: $1) }
        let (alice, bob) = (try await online(world, "alice"), try await online(world, "bob"))
        for id in [city, .community("city", channel: ConversationID.defaultChannel)] {
            let chat = alice.conversation(id)
            try await chat.ban("bob", reason: "spam")
            #expect(try await chat.bans().map(\.id) == ["bob"])
            let error = await #expect(throws: ChatError.self) {
                _ = try await bob.conversation(.community("city", channel: "open")).send(.text("hi")).delivered()
            }
            #expect(error?.code == .banned && error?.reason == "spam")
            try await chat.unban("bob")
            #expect(try await chat.bans().isEmpty)
        }
        await world.close()
    }

    @Test("Who is banned from a room is out of it at once, and their subscription says why")
    func room() async throws {
        let world = try ChatWorld(users: ["alice", "bob"])
        try await world.makeRoom("lobby")
        let id = ConversationID.room("lobby")
        let (alice, bob) = (try await online(world, "alice"), try await online(world, "bob"))
        let subscription = bob.conversation(id).subscribe()
        for await state in subscription.states where state == .live { break }
        try await world.perform { $0.ban("bob", reason: "spam", from: id, by: admin, completion: $1) }
        for await state in subscription.states {
            guard case .refused(let error) = state else { continue }
            #expect(error.code == .banned && error.reason == "spam")
            break
        }
        _ = try await alice.conversation(id).send(.text("without bob")).delivered()
        // What is said later is there.
        try await alice.say(1...1, in: .direct("bob"))
        #expect(try await eventually { try await bob.texts(in: .direct("alice")) == ["1"] })
        #expect(try await bob.conversation(id).history(from: .local).messages.isEmpty)
        await world.close()
    }

    @Test("Who is put out of the server is told why, and not that a fresh token would help")
    func server() async throws {
        let world = try ChatWorld(users: ["alice", "bob"])
        let (alice, bob) = (try await online(world, "alice"), try await online(world, "bob"))
        try await world.perform { $0.setState(of: "alice", isActive: false, by: admin, completion: $1) }
        try await world.perform { $0.ban("bob", reason: "spam", by: admin, completion: $1) }
        for (client, code) in [(alice, ChatError.Code.userDeactivated), (bob, .banned)] {
            for await state in client.connection {
                guard case .rejected(let error) = state else { continue }
                #expect(error.code == code)
                break
            }
        }
        await world.close()
    }

    @Test("A device that an administrator has disconnected comes back by itself")
    func disconnected() async throws {
        let world = try ChatWorld(users: ["alice"])
        let alice = try await online(world, "alice")
        let asked = world.requests(of: "alice")["sync"] ?? 0
        #expect(try world.engine.closeConnections(of: "alice", device: nil, by: admin) == 1)
        #expect(try await eventually { (world.requests(of: "alice")["sync"] ?? 0) > asked })
        for await state in alice.connection {
            if case .rejected = state { Issue.record("rejected") }
            break
        }
        await world.close()
    }

    @Test("A message is reported with its words, and a device shows an erased sender's messages under their new name")
    func reportAndErase() async throws {
        let world = try ChatWorld(users: ["alice", "bob"])
        try await world.makeGroup("swift", members: ["alice", "bob"])
        let id = ConversationID.group("swift")
        let (alice, bob) = (try await online(world, "alice"), try await online(world, "bob"))
        let sending = try await alice.conversation(id).send(.text("bad words"))
        _ = try await sending.delivered()
        let chat = bob.conversation(id)
        #expect(try await eventually { try await chat.history(from: .local).messages.count == 1 })
        try await chat.report(sending.id, reason: .harassment, text: "look")
        let reports = try world.engine.reports(isOpen: true, below: nil, limit: 10, by: admin).reports
        #expect(reports.first?.reporter == "bob" && reports.first?.text == "look")
        await #expect(throws: ChatError.self) { try await chat.report(sending.id, reason: .init(rawValue: "")) }
        let row = try await world.engine.erase("alice", messages: .anonymize, by: admin)
        try await world.engine.carryOut(row)
        #expect(
            try await eventually {
                try await chat.history(from: .local).messages.first?.sender == row.replacement
            })
        #expect(try await chat.history(from: .local).messages.first?.text == "bad words")
        #expect(try await bob.verifyIntegrity() == [])
        await world.close()
    }
}
