import Foundation
import Scrollback
import ScrollbackTesting
import Testing

/// The examples of the article on live conversations.
@Suite("Examples: a timeline")
struct TimelineSnippets {
    func rows(chat: Conversation, show: Show<[String]>) async {
        let timeline = chat.timeline(at: .firstUnread, window: 200)
        for await view in timeline.views {
            let rows = view.items.map { item in
                switch item {
                case .message(let message) where message.isDeleted: "message deleted"
                case .message(let message):
                    "\(view.profiles[message.sender]?.name ?? message.sender.text): \(message.text ?? "")"
                case .pending(let pending): "sending: \(pending.content.text ?? "")"
                case .gap(_, .loading): "loading …"
                case .gap(_, .waiting): "messages not loaded"
                }
            }
            show(rows)
        }
    }

    func scroll(timeline: Timeline, first: Timeline.Item, last: Timeline.Item) async throws {
        timeline.setVisible(from: first.id, to: last.id)
        try await timeline.loadOlder()
    }

    func jump(timeline: Timeline, to id: MessageID) async throws {
        try await timeline.jump(to: .id(id))
        try await timeline.jump(to: .latest)
    }

    func read(chat: Conversation, newestOnScreen: Message) async throws {
        try await chat.markRead(upTo: newestOnScreen.id)
    }

    func unsent(view: Timeline.View, chat: Conversation) async throws {
        for case .pending(let pending) in view.items {
            guard case .failed(let error) = pending.state else { continue }
            if error.code == .expired {
                try await chat.sendHandle(for: pending.id).cancel()
            } else {
                try await chat.sendHandle(for: pending.id).retry()
            }
        }
    }

    func channel(_ client: ChatClient, show: Show<[Timeline.Item]>) async {
        let channel = client.conversation(.community("city", channel: "general"))
        let subscription = channel.subscribe()
        for await view in channel.timeline().views { show(view.items) }
        withExtendedLifetime(subscription) {}
    }

    @Test("A timeline shows senders, pending messages and deleted messages")
    func shows() async throws {
        let stage = try await Stage(saying: 3)
        stage.server.goOffline("bob")
        try await stage.bobsChat.send(.text("queued"))
        let (stream, show) = AsyncStream.makeStream(of: [String].self)
        let screen = Task { await rows(chat: stage.bobsChat) { show.yield($0) } }
        for await rows in stream where rows.last == "sending: queued" { break }
        stage.server.goOnline("bob")
        for await rows in stream where rows.last == "Bob: queued" { break }
        _ = try await stage.bobsChat.recall(stage.messages()[3].id).waitUntilSent()
        for await rows in stream where rows.last == "message deleted" { break }
        await stage.server.close()
        await screen.value
    }

    @Test("A timeline can scroll and jump, and seen messages are marked as read")
    func moves() async throws {
        let stage = try await Stage(saying: 60)
        let timeline = stage.chat.timeline(window: 10)
        var views = timeline.views.makeAsyncIterator()
        var view: Timeline.View?
        repeat { view = await views.next() } while view?.items.count != 10
        let items = try #require(view?.items)
        try await scroll(timeline: timeline, first: items[0], last: items[9])
        let early = try await stage.messages()[4]
        try await jump(timeline: timeline, to: early.id)
        let newest = try #require(try await stage.chat.history(limit: 1).messages.first)
        try await read(chat: stage.chat, newestOnScreen: newest)
        #expect(try await eventually { try await stage.chat.recent()?.unread == 0 })
        await stage.server.close()
    }

    @Test("A rejected message can be retried")
    func refused() async throws {
        let stage = try await Stage()
        try await stage.server.setMember("alice", of: Stage.group, false)
        let sending = try await stage.chat.send(.text("may I?"))
        await #expect(throws: ChatError.self) { try await sending.waitUntilSent() }
        try await stage.server.setMember("alice", of: Stage.group, true)
        for await view in stage.chat.timeline().views {
            try await unsent(view: view, chat: stage.chat)
            break
        }
        #expect(try await sending.waitUntilSent().text == "may I?")
        await stage.server.close()
    }

    @Test("A subscription delivers all messages of a channel")
    func channels() async throws {
        let stage = try await Stage()
        try await stage.server.makeCommunity("city", channels: ["general"], members: ["alice", "bob"])
        let (stream, show) = AsyncStream.makeStream(of: Int.self)
        let screen = Task { await channel(stage.alice) { show.yield($0.count) } }
        let there = stage.bob.conversation(.community("city", channel: "general"))
        for number in 1...3 { try await there.send(.text("\(number)")) }
        for await count in stream where count == 3 { break }
        await stage.server.close()
        await screen.value
    }
}

@MainActor
final class ChatModel {
    private(set) var items: [Timeline.Item] = []
    private let timeline: Timeline

    init(_ chat: Conversation) {
        timeline = chat.timeline(at: .firstUnread)
    }

    func run() async {
        for await view in timeline.views { items = view.items }
    }
}

@Suite("Examples: a timeline in a model")
@MainActor
struct ChatModelTests {
    @Test("A running model contains the items of its timeline")
    func model() async throws {
        let stage = try await Stage(saying: 3)
        let model = ChatModel(stage.chat)
        let running = Task { await model.run() }
        #expect(try await eventually { model.items.count == 3 })
        await stage.server.close()
        await running.value
    }
}
