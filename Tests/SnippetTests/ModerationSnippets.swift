import Foundation
import Scrollback
import ScrollbackTesting
import Testing

// The examples of the article on rooms, typing indicators and moderation.

@Suite("Examples: rooms, typing and moderation")
struct ModerationSnippets {
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
        let subscription = lobby.subscribe()  // Active until it is deallocated.
        for await state in subscription.states {
            switch state {
            case .waiting: continue
            case .live: try await lobby.send(.text("hello everybody"))
            case .refused(let error): show(error.message)  // The client retries after room-full.
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
            show("\(ban.id) until \(ban.until.map { $0.formatted() } ?? "it is lifted")")
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
            show(try await sending.waitUntilSent().text ?? "")  // The server may have replaced banned words.
        } catch {
            switch error.code {
            case .blocked, .muted: show(error.message)
            case .contentRejected: show("This message isn't allowed.")
            default: throw error
            }
        }
    }

    @Test("The examples for rooms, typing and moderation run")
    func run() async throws {
        let stage = try await Stage(saying: 1)
        try await stage.server.makeRoom("lobby")
        keyPressed(stage.chat)
        try await room(stage.alice) { _ in }
        try await priorities(stage.alice.conversation(.room("lobby")))
        #expect(try await blocking(stage.alice) == [])
        var shown: [String] = []
        try await refusals(stage.chat) { shown.append($0) }
        try await stage.bob.block("alice")
        try await refusals(stage.alice.conversation(.direct("bob"))) { shown.append($0) }
        #expect(shown == ["hello", "bob has blocked you."])
        shown = []
        try await banning(stage.chat) { shown.append($0) }
        #expect(shown.count == 1 && shown[0].hasPrefix("mallory until "))
        #expect(try await stage.chat.bans().isEmpty)
        try await reporting(stage.chat, try #require(try await stage.messages().first))
        await stage.server.close()
    }
}
