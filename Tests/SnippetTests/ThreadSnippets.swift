import Foundation
import Scrollback
import ScrollbackTesting
import ScrollbackUI
import Testing

// The examples of the article on threads.

@Suite("Examples: threads", .timeLimit(.minutes(10)))
struct ThreadSnippets {
    func list(_ chat: Conversation, show: Show<String>) async throws {
        var next: Timetoken?
        repeat {
            let page = try await chat.threads(after: next)
            for thread in page.threads {
                let replies = thread.parent.replies?.count ?? 0
                show("\(thread.parent.text ?? ""): \(replies) replies, \(thread.state.unread) unread")
            }
            next = page.next
        } while next != nil
    }

    func change(_ chat: Conversation, _ thread: MessageThread) async throws {
        try await chat.followThread(of: thread.id)
        try await chat.markThreadRead(of: thread.id)
        try await chat.unfollowThread(of: thread.id)
    }

    @MainActor
    func model(_ chat: Conversation) async throws -> ThreadsModel {
        let model = ThreadsModel(chat, followed: true)
        try await model.reload()
        return model
    }

    @Test("The examples of threads do what the article says")
    func examples() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let chat = try await server.client("alice").conversation(.group("swift"))
        let bob = try await server.client("bob").conversation(.group("swift"))
        let root = try await chat.send(.text("hello")).waitUntilSent()
        _ = try await bob.send(.text("hi"), replyingTo: root.id).waitUntilSent()
        var shown: [String] = []
        try await list(chat) { shown.append($0) }
        #expect(shown == ["hello: 1 replies, 1 unread"])
        let model = try await model(chat)
        #expect(await model.threads.map(\.id) == [root.id])
        try await change(chat, chat.threads().threads[0])
        let state = try await chat.threads().threads[0].state
        #expect(state.unread == 0 && !state.isFollowed)
        await server.close()
    }
}
