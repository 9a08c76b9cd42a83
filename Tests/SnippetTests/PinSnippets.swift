import Foundation
import Scrollback
import ScrollbackTesting
import Testing

// The examples of pins and polls in the article on changes of messages.

@Suite("Examples: pins and polls", .timeLimit(.minutes(10)))
struct PinSnippets {
    func pin(_ chat: Conversation, _ id: MessageID, show: Show<String>) async throws {
        try await chat.pin(id)
        let pinned = try await chat.pinnedMessages()
        for message in pinned.messages { show("\(message.text ?? "") pinned by \(message.pinnedBy?.text ?? "")") }
        try await chat.unpin(id)
    }

    func vote(_ chat: Conversation, show: Show<String>) async throws {
        let poll = Poll(question: "Which day?", options: ["Saturday", "Sunday"])
        let message = try await chat.send(.poll(poll)).waitUntilSent()
        try await chat.vote(for: 0, in: message.id)
        try await chat.vote(for: 1, in: message.id)
        for result in try await chat.message(message.id).pollResults ?? [] { show("\(result.option): \(result.votes)") }
        try await chat.closePoll(message.id).waitForCompletion()
    }

    @Test("The examples of pins and polls do what the article says")
    func examples() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let chat = try await server.client("alice").conversation(.group("swift"))
        var shown: [String] = []
        let message = try await chat.send(.text("hello")).waitUntilSent()
        try await pin(chat, message.id) { shown.append($0) }
        try await vote(chat) { shown.append($0) }
        #expect(shown == ["hello pinned by alice", "Saturday: 0", "Sunday: 1"])
        await server.close()
    }
}
