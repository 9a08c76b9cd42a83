import Foundation
import Scrollback
import ScrollbackTesting
import Testing

// The examples of the article on conversations and profiles.

@Suite("Examples: conversations and profiles", .timeLimit(.minutes(10)))
struct ConversationSnippets {
    func create(_ client: ChatClient) async throws -> Conversation {
        let group = client.conversation(.newGroup())
        try await group.create(ConversationSettings(name: "Climbing", members: ["bob", "carol"]))
        try await group.send(.text("Who has time on Saturday?"))
        return group
    }

    func creation(_ group: Conversation, show: Show<String>) async throws {
        let creation = try await group.create(ConversationSettings(name: "Climbing"))
        do {
            try await creation.waitForCompletion()
        } catch {
            show("The group could not be created: \(error.message)")
        }
    }

    func change(_ group: Conversation, show: Show<String>) async throws {
        try await group.update(ConversationSettings(name: "Climbing and hiking", isFrozen: true))
        let settings = try await group.settings()
        show(settings.metadata?.text ?? "no metadata")
    }

    func channels(_ client: ChatClient, show: Show<String>) async throws {
        var page = try await client.conversation(.community("city")).channels()
        for channel in page.channels { show(channel.name ?? channel.conversation.description) }
        while let next = page.next {
            page = try await client.conversation(.community("city")).channels(after: next)
            for channel in page.channels { show(channel.name ?? channel.conversation.description) }
        }
    }

    func profiles(_ client: ChatClient, show: Show<String>) async throws {
        try await client.updateProfile(name: "Alice", avatar: "https://example.com/alice.png")
        let own = try await client.profile()
        let others = try await client.profiles(of: ["bob", "carol"])
        show("\(own.name ?? "") chats with \(others.values.compactMap(\.name).sorted().joined(separator: ", "))")
    }

    @Test("The examples of the article on conversations and profiles do what it says")
    func examples() async throws {
        let server = try TestServer(users: ["alice", "bob", "carol"])
        let alice = try await server.client("alice")
        var shown: [String] = []
        let show: Show<String> = { shown.append($0) }
        let group = try await create(alice)
        await alice.waitForOutbox()
        try await creation(group, show: show)
        try await change(group, show: show)
        try await profiles(alice, show: show)
        let admin = try await server.client("admin")
        try await admin.conversation(.community("city")).create(
            ConversationSettings(name: "City", members: ["alice"])
        ).waitForCompletion()
        try await channels(alice, show: show)
        #expect(shown[0].hasPrefix("The group could not be created: The conversation"))
        #expect(
            Array(shown.dropFirst()) == [
                "no metadata", "Alice chats with Bob, Carol", "community:city/default",
            ])
        await alice.waitForOutbox()
        #expect(try await group.settings().name == "Climbing and hiking")
        await server.close()
    }
}
