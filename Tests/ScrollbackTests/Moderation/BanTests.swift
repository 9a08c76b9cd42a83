import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import ScrollbackWire
import TestSupport
import Testing

@Suite("Bans and reports in the client", .timeLimit(.minutes(10)))
struct BanTests {
    private let admin = Caller(user: "admin", isAdmin: true)

    private func online(_ server: TestServer, _ user: UserID) async throws -> ChatClient {
        let client = try await server.client(user)
        try await client.ready()
        return client
    }

    @Test("A banned member's message fails with the reason until a moderator lifts the ban")
    func group() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let id = ConversationID.group("swift")
        try await server.perform { $0.putMember("alice", role: .moderator, of: id, by: admin, completion: $1) }
        let (alice, bob) = (try await online(server, "alice"), try await online(server, "bob"))
        let chat = alice.conversation(id)
        let until = Date(timeIntervalSinceNow: 3600)
        try await chat.ban("bob", until: until, reason: "spam")
        let ban = try #require(try await chat.bans().first)
        #expect(ban.id == "bob" && ban.reason == "spam" && ban.by == "alice")
        #expect(abs(ban.until?.timeIntervalSince(until) ?? 9) < 0.01)
        let error = await #expect(throws: ChatError.self) {
            _ = try await bob.conversation(id).send(.text("hi")).waitUntilSent()
        }
        #expect(error?.code == .banned && error?.reason == "spam" && error?.until != nil)
        await #expect(throws: ChatError.self) { try await bob.conversation(id).ban("alice") }
        try await chat.unban("bob")
        #expect(try await chat.bans().isEmpty)
        await #expect(throws: ChatError.self) { try await chat.ban("bob", reason: "") }
        await server.close()
    }

    @Test("A ban by a community moderator covers all channels, by community ID and by default channel ID")
    func community() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeCommunity("city", channels: ["open"], members: ["alice", "bob"])
        let city = ConversationID.community("city")
        try await server.perform { $0.putMember("alice", role: .moderator, of: city, by: admin, completion: $1) }
        let (alice, bob) = (try await online(server, "alice"), try await online(server, "bob"))
        for id in [city, .community("city", channel: ConversationID.defaultChannel)] {
            let chat = alice.conversation(id)
            try await chat.ban("bob", reason: "spam")
            #expect(try await chat.bans().map(\.id) == ["bob"])
            let error = await #expect(throws: ChatError.self) {
                _ = try await bob.conversation(.community("city", channel: "open")).send(.text("hi")).waitUntilSent()
            }
            #expect(error?.code == .banned && error?.reason == "spam")
            try await chat.unban("bob")
            #expect(try await chat.bans().isEmpty)
        }
        await server.close()
    }

    @Test("Banning a user from a room ends their subscription with the reason")
    func room() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeRoom("lobby")
        let id = ConversationID.room("lobby")
        let (alice, bob) = (try await online(server, "alice"), try await online(server, "bob"))
        let subscription = bob.conversation(id).subscribe()
        for await state in subscription.states where state == .live { break }
        let ban = BanUser(conversation: id, user: "bob", reason: "spam")
        try await server.perform { $0.execute(ban, by: admin, completion: $1) }
        for await state in subscription.states {
            guard case .refused(let error) = state else { continue }
            #expect(error.code == .banned && error.reason == "spam")
            break
        }
        _ = try await alice.conversation(id).send(.text("without bob")).waitUntilSent()
        // Bob still receives messages of other conversations.
        try await alice.sendMessages(1...1, in: .direct("bob"))
        #expect(try await eventually { try await bob.texts(in: .direct("alice")) == ["1"] })
        #expect(try await bob.conversation(id).history(from: .local).messages.isEmpty)
        await server.close()
    }

    @Test("A deactivated or banned user's connection is rejected with the reason")
    func server() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        let (alice, bob) = (try await online(server, "alice"), try await online(server, "bob"))
        let deactivation = PutUserState(user: "alice", isActive: false)
        try await server.perform { $0.execute(deactivation, by: admin, completion: $1) }
        let ban = BanFromServer(user: "bob", reason: "spam")
        try await server.perform { $0.execute(ban, by: admin, completion: $1) }
        for (client, code) in [(alice, ChatError.Code.userDeactivated), (bob, .banned)] {
            for await state in client.connection {
                guard case .rejected(let error) = state else { continue }
                #expect(error.code == code)
                break
            }
        }
        await server.close()
    }

    @Test("A client reconnects after an administrator closes its connection")
    func disconnected() async throws {
        let server = try TestServer(users: ["alice"])
        let alice = try await online(server, "alice")
        let asked = server.requests(of: "alice")["sync"] ?? 0
        #expect(try server.engine.closeConnections(of: "alice", device: nil, by: admin) == 1)
        #expect(try await eventually { (server.requests(of: "alice")["sync"] ?? 0) > asked })
        for await state in alice.connection {
            if case .rejected = state { Issue.record("rejected") }
            break
        }
        await server.close()
    }

    @Test("A report includes the message text, and clients show an erased sender's messages under the replacement name")
    func reportAndErase() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let id = ConversationID.group("swift")
        let (alice, bob) = (try await online(server, "alice"), try await online(server, "bob"))
        let sending = try await alice.conversation(id).send(.text("bad words"))
        _ = try await sending.waitUntilSent()
        let chat = bob.conversation(id)
        #expect(try await eventually { try await chat.history(from: .local).messages.count == 1 })
        try await chat.report(sending.id, reason: .harassment, text: "look")
        let list = ListReports(isOpen: true, page: Paging())
        let reports = try await server.perform { $0.execute(list, by: admin, completion: $1) }.reports
        #expect(reports.first?.reporter == "bob" && reports.first?.text == "look")
        await #expect(throws: ChatError.self) { try await chat.report(sending.id, reason: .init(rawValue: "")) }
        let row = try await server.engine.erase("alice", messages: .anonymize, by: admin)
        try await server.engine.runErasure(row)
        #expect(
            try await eventually {
                try await chat.history(from: .local).messages.first?.sender == row.replacement
            })
        #expect(try await chat.history(from: .local).messages.first?.text == "bad words")
        #expect(try await bob.verifyIntegrity() == [])
        await server.close()
    }
}
