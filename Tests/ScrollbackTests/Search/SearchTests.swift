import Foundation
import Scrollback
import ScrollbackTesting
import Testing

@Suite("Search sources")
struct SearchTests {
    private let group = ConversationID.group("swift")

    private func texts(_ page: SearchPage) -> [String] { page.hits.map(\.text) }

    @Test("A search returns local, remote or merged hits, and reports a shortfall without the server")
    func threeSources() async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let bob = try await server.client("bob")
        for number in 1...40 { try await bob.conversation(group).send(.text("tide \(number)")) }
        await bob.waitForOutbox()
        let alice = try await server.client("alice")
        let chat = alice.conversation(group)
        _ = try await chat.history(.earliest, limit: 5, from: .remote)

        #expect(texts(try await chat.search("tide 3", from: .local)).contains("tide 3"))
        #expect(!texts(try await chat.search("tide 3", limit: 100, from: .local)).contains("tide 33"))
        let remote = try await chat.search("tide 33", from: .remote(excludingLocal: true))
        #expect(texts(remote) == ["tide 33"] && remote.remoteError == nil)
        // The client stored the hit, so it is no longer missing.
        #expect(texts(try await chat.search("tide 33", from: .local)) == ["tide 33"])
        #expect(texts(try await chat.search("tide 33", from: .remote(excludingLocal: true))) == [])
        let first = try await alice.search("tide", limit: 30)
        #expect(texts(first) == (11...40).reversed().map { "tide \($0)" } && first.remoteError == nil)
        let next = try #require(first.next)
        #expect(
            texts(try await alice.search("tide", limit: 30, after: next)) == (1...10).reversed().map { "tide \($0)" })
        #expect(try await alice.verifyIntegrity() == [])

        server.goOffline("alice")
        let offline = try await alice.search("tide", limit: 10)
        #expect(offline.hits.count == 10 && offline.remoteError != nil)
        // A cursor from a local page works offline, and a cursor from the server does not.
        let after = try await alice.search("tide", limit: 10, after: offline.next)
        #expect(after.hits.count == 10 && after.remoteError != nil)
        #expect(Set(texts(after)).isDisjoint(with: texts(offline)))
        await #expect(throws: ChatError.self) { try await alice.search("tide", limit: 30, after: next) }
        await #expect(throws: ChatError.self) { try await alice.search("tide", from: .remote) }
        await #expect(throws: ChatError.self) { try await alice.search("tide", limit: 30, after: next, from: .local) }
        await server.close()
    }

    @Test("A search finds edited and recalled messages in their current state")
    func changes() async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let bob = try await server.client("bob")
        let chat = bob.conversation(group)
        try await chat.send(.text("tide"))
        await bob.waitForOutbox()
        let alice = try await server.client("alice")
        #expect(texts(try await alice.search("tide")) == ["tide"])
        let id = try #require(try await chat.history().messages.first?.id)
        _ = try await chat.edit(id, to: .text("ebb")).waitUntilSent()
        #expect(texts(try await alice.search("tide")) == [])
        #expect(texts(try await alice.search("ebb")) == ["ebb"])
        _ = try await chat.recall(id).waitUntilSent()
        #expect(texts(try await alice.search("ebb")) == [])
        await server.close()
    }
}
