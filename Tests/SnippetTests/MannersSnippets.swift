import Foundation
import Scrollback
import ScrollbackTesting
import Testing

// The article on rooms and manners.

@Suite("Examples: rooms and manners")
struct MannersSnippets {
    func typingShown(_ chat: Conversation, show: Show<String>) async {
        for await users in chat.typing {
            show(users.isEmpty ? "" : "\(users.map(\.text).joined(separator: ", ")) typing …")
        }
    }

    func keyPressed(_ chat: Conversation) {
        chat.setTyping(true)
    }

    func room(_ client: ChatClient, show: Show<String>) async throws {
        let lobby = client.conversation(.room("lobby"))
        let subscription = lobby.subscribe()  // heard for as long as this is held
        for await state in subscription.states {
            switch state {
            case .waiting: continue
            case .live: try await lobby.send(.text("hello everybody"))
            case .refused(let error): show(error.message)  // room-full is asked again by itself
            }
            break
        }
    }

    func priorities(_ lobby: Conversation) async throws {
        try await lobby.send(.text("❤️"), priority: .low)
        try await lobby.send(.text("the show begins"), priority: .high)
    }

    func banning(_ chat: Conversation, show: Show<String>) async throws {
        try await chat.ban("mallory", until: .now.addingTimeInterval(86_400), reason: "spam")
        for ban in try await chat.bans() {
            show("\(ban.id) until \(ban.until.map { $0.formatted() } ?? "somebody takes it back")")
        }
        try await chat.unban("mallory")
    }

    func reporting(_ chat: Conversation, _ message: Message) async throws {
        try await chat.report(message.id, reason: .harassment, text: "again and again")
    }

    func blocking(_ client: ChatClient) async throws -> [UserID] {
        try await client.block("mallory")
        try await client.unblock("mallory")
        return try await client.blockedUsers()
    }

    func refusals(_ chat: Conversation, show: Show<String>) async throws {
        let sending = try await chat.send(.text("hello"))
        do {
            show(try await sending.delivered().text ?? "")  // as it was stored, if words were replaced
        } catch {
            switch error.code {
            case .blocked, .muted: show(error.message)
            case .contentRejected: show("choose other words")
            default: throw error
            }
        }
    }

    @Test("They do what they say")
    func run() async throws {
        let stage = try await Stage(saying: 1)
        try await stage.world.makeRoom("lobby")
        keyPressed(stage.chat)
        try await room(stage.alice) { _ in }
        try await priorities(stage.alice.conversation(.room("lobby")))
        #expect(try await blocking(stage.alice) == [])
        var shown: [String] = []
        try await refusals(stage.chat) { shown.append($0) }
        try await stage.bob.block("alice")
        try await refusals(stage.alice.conversation(.direct("bob"))) { shown.append($0) }
        #expect(shown == ["hello", "bob has blocked you"])
        shown = []
        try await banning(stage.chat) { shown.append($0) }
        #expect(shown.count == 1 && shown[0].hasPrefix("mallory until "))
        #expect(try await stage.chat.bans().isEmpty)
        try await reporting(stage.chat, try #require(try await stage.messages().first))
        await stage.world.close()
    }
}
