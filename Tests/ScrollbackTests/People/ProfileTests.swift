import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import TestSupport
import Testing

@testable import Scrollback

@Suite("The user's own profile in the client", .timeLimit(.minutes(10)))
struct ProfileTests {
    @Test("A change of the profile is shown at once, and on all devices after a restart")
    func change() async throws {
        let folder = try TemporaryFolder()
        let server = try TestServer(users: ["alice", "bob"])
        let alice = try await server.client("alice", store: .directory(folder.url))
        let (laptop, bob) = (try await server.client("alice"), try await server.client("bob"))
        #expect(try await alice.profile().name == "Alice")
        #expect(try await laptop.profile().name == "Alice")
        server.goOffline("alice")
        try await alice.updateProfile(name: "Alicja 🦊", metadata: RawJSON(known: #"{"team":4}"#))
        try await alice.updateProfile(avatar: "https://example.com/a.png")
        let expected = UserProfile(
            id: "alice", name: "Alicja 🦊", avatar: "https://example.com/a.png",
            metadata: RawJSON(known: #"{"team":4}"#))
        #expect(try await alice.profile() == expected)
        await alice.close()

        let again = try await server.client("alice", store: .directory(folder.url))
        #expect(try await again.profile() == expected)
        server.goOnline("alice")
        for device in [again, laptop] { #expect(try await eventually { try await device.profile() == expected }) }
        #expect(try await eventually { try await again.pendingCount() == 0 })
        #expect(try await again.profile() == expected)
        #expect(
            try await bob.profiles(of: ["alice", "bob", "unknown"]).mapValues(\.name) == [
                "alice": "Alicja 🦊", "bob": "Bob",
            ])
        try await again.updateProfile(name: "").waitForCompletion()
        #expect(try await again.profile().name == nil)
        #expect(try server.engine.user("alice").name == nil)
        await server.close()
    }

    @Test("A refused profile is not shown any longer, and an invalid one is not queued")
    func refused() async throws {
        let server = try TestServer(users: ["alice"])
        try await server.set { $0.moderation.bannedWords = .init(words: ["spam"], action: .reject) }
        let alice = try await server.client("alice")
        let change = try await alice.updateProfile(name: "spam")
        let error = await #expect(throws: ChatError.self) { try await change.waitForCompletion() }
        #expect(error?.code == .contentRejected)
        #expect(try await alice.profile().name == "Alice")
        let long = await #expect(throws: ChatError.self) {
            try await alice.updateProfile(name: String(repeating: "a", count: 129))
        }
        #expect(long?.parameter == "name")
        let many = await #expect(throws: ChatError.self) {
            try await alice.profiles(of: Set((0...1000).map { UserID(known: "u\($0)") }))
        }
        #expect(many?.parameter == "users")
        await server.close()
    }
}
