import Foundation
import Scrollback
import ScrollbackTesting
import ScrollbackUI
import Testing

/// The examples of the article on recent conversations.
@Suite("Examples: the list of recents", .timeLimit(.minutes(10)))
struct RecentsSnippets {
    func list(client: ChatClient, show: Show<[String]>, badge: Show<Int64>) async {
        for await list in client.recents.views(limit: 50) {
            show(list.conversations.map { "\(list.title(of: $0)): \($0.unread)" })
            badge(list.totalUnread)
        }
    }

    func pages(client: ChatClient) async throws -> [ConversationID] {
        let first = try await client.recents.view(limit: 100)
        let second = try await client.recents.view(limit: 100, after: first.conversations.last)
        return (first.conversations + second.conversations).map(\.id)
    }

    func filters(client: ChatClient, show: Show<[String?]>) async throws -> Recents.View {
        let unread = RecentsFilter(kinds: [.direct, .group], isMuted: false, isUnread: true)
        let list = try await client.recents.view(limit: 20, matching: unread)
        let quiet = RecentsFilter(excludedLastTypes: [.notice, "app:poll"])
        for await list in client.recents.views(matching: quiet) { show(list.conversations.map(\.lastMessage?.text)) }
        return list
    }

    func counts(client: ChatClient, show: Show<String>) async throws {
        let recent = try await client.recents[.direct("bob")]
        show("\(recent?.unread ?? 0) unread, \(recent?.mentions ?? 0) of them mention you")
        let totals = try await client.recents.totals()
        show("\(totals.unread) in all, \(totals.unread(of: .group)) in groups, \(totals.unread(muted: true)) muted")
    }

    func unread(chat: Conversation, show: Show<String>) async throws {
        for try await message in try await chat.unreadMessages() { show("\(message.sender): \(message.text ?? "")") }
    }

    func read(client: ChatClient, chat: Conversation, newestOnScreen: Message) async throws -> [ConversationID] {
        try await chat.markRead()
        try await chat.markRead(upTo: newestOnScreen.id)
        let unknown = try await client.recents.markRead([.group("swift"), .direct("bob")])
        try await client.recents.markAllRead(of: .direct)
        try await client.recents.markAllRead()
        return unknown
    }

    func mark(chat: Conversation) async throws {
        try await chat.markUnread()
    }

    func set(chat: Conversation) async throws {
        try await chat.setMuted(true)
        try await chat.setPinned(true)
    }

    func tidy(client: ChatClient) async throws {
        try await client.recents.remove(.group("swift"))
        try await client.recents.remove(.direct("bob"), options: .init(marksRead: false, excludesFromNewDevices: true))
        try await client.recents.add(.direct("bob"), options: .init(showsLastMessage: true, movesToTop: false))
    }

    func keep(client: ChatClient, chat: Conversation) async throws {
        try await client.recents.setLocalExtension(RawJSON(#"{"banner": "seen"}"#), of: chat.id, notifies: false)
    }

    func excludeFromNewDevices(client: ChatClient) async throws {
        try await client.recents.excludeFromNewDevices([.direct("bob")])
        try await client.recents.prefetch(.init(days: 7, conversations: 100, messages: 100))
    }

    func events(client: ChatClient, show: Show<String>) async {
        for await event in client.recents.events {
            switch event {
            case .loadedAll: show("all conversations are loaded")
            case .added(let recent, let total): show("new: \(recent.id), \(total) unread")
            case .updated(let recent, let total): show("changed: \(recent.id), \(total) unread")
            case .removed(let id, let total): show("removed: \(id), \(total) unread")
            case .read(let scope, let total): show("read: \(scope), \(total) unread")
            case .unreadByKind(let counts): show("in groups: \(counts[.group] ?? 0)")
            case .missed(let count): show("\(count) events were dropped")
            }
        }
    }

    func missed(channel: Conversation, show: Show<String>) async throws {
        for try await message in try await channel.catchUp() { show("\(message.sender): \(message.text ?? "")") }
    }

    @MainActor
    func models(client: ChatClient) -> (RecentsModel, TimelineModel) {
        let list = RecentsModel(client.recents, filter: .init(kinds: [.direct, .group]), pageSize: 30)
        let chat = TimelineModel(client.conversation(.group("swift")), at: .firstUnread, marksRead: true)
        return (list, chat)
    }

    @MainActor
    func use(list: RecentsModel, chat: TimelineModel, show: Show<Any>) async throws {
        show(list.conversations.map(\.unread))  // Also list.profiles, list.totals, list.hasMore and list.hasLoadedAll.
        if list.hasMore { try await list.loadMore() }
        try await list.setPinned(true, .group("swift"))
        try await list.markRead([.group("swift")])

        chat.setVisible(from: chat.items[0].id, to: chat.items[chat.items.count - 1].id)
        try await chat.loadOlder()
        try await chat.send(.text("hello"))
        show(chat.typing.count)  // Also chat.profiles, chat.firstUnread and chat.isAtNewest.
    }

    @Test("The list shows, counts, reads and removes conversations, and emits events")
    func all() async throws {
        let stage = try await Stage(saying: 3)
        _ = try await stage.bob.conversation(.direct("alice")).send(.text("psst")).waitUntilSent()
        let (stream, said) = AsyncStream.makeStream(of: String.self)
        let watching = Task { await events(client: stage.alice) { said.yield($0) } }
        let (badges, badge) = AsyncStream.makeStream(of: Int64.self)
        let listing = Task { await list(client: stage.alice, show: { _ in }, badge: { badge.yield($0) }) }
        for await count in badges where count == 4 { break }
        #expect(try await pages(client: stage.alice) == [.direct("bob"), Stage.group])
        var texts: [String] = []
        try await counts(client: stage.alice) { texts.append($0) }
        #expect(texts == ["1 unread, 0 of them mention you", "4 in all, 3 in groups, 0 muted"])
        texts = []
        try await unread(chat: stage.chat) { texts.append($0) }
        #expect(texts == ["bob: 1", "bob: 2", "bob: 3"])

        try await set(chat: stage.chat)
        #expect(try await stage.chat.recent()?.isPinned == true)
        let newest = try #require(try await stage.chat.history(limit: 1).messages.first)
        #expect(try await read(client: stage.alice, chat: stage.chat, newestOnScreen: newest) == [])
        for await count in badges where count == 0 { break }
        try await mark(chat: stage.chat)
        try await keep(client: stage.alice, chat: stage.chat)
        #expect(try await stage.chat.recent()?.isMarkedUnread == true)
        #expect(try await stage.chat.recent()?.localExtension?.text == #"{"banner": "seen"}"#)
        try await tidy(client: stage.alice)
        try await excludeFromNewDevices(client: stage.alice)
        #expect(try await pages(client: stage.alice) == [.direct("bob")])
        for await text in stream where text.hasPrefix("removed: group:swift") { break }
        await stage.server.close()
        await watching.value
        await listing.value
    }

    @Test("A filter selects the listed conversations and their last messages")
    func filtered() async throws {
        let stage = try await Stage(saying: 2)
        let (stream, shown) = AsyncStream.makeStream(of: [String?].self)
        let screen = Task { try await filters(client: stage.alice) { shown.yield($0) } }
        for await texts in stream where texts == ["2"] { break }
        await stage.server.close()
        #expect(try await screen.value.conversations.map(\.id) == [Stage.group])
    }

    @Test("catchUp returns the messages a channel received while offline")
    func caughtUp() async throws {
        let stage = try await Stage()
        try await stage.server.makeCommunity("city", channels: ["general"], members: ["alice", "bob"])
        let id = ConversationID.community("city", channel: "general")
        _ = try await stage.bob.conversation(id).send(.text("1")).waitUntilSent()
        let channel = stage.alice.conversation(id)
        #expect(try await eventually { try await channel.recent()?.unread == 1 })
        #expect(try await channel.history().messages.numbers == [1])
        stage.server.goOffline("alice")
        for number in 2...5 { _ = try await stage.bob.conversation(id).send(.text("\(number)")).waitUntilSent() }
        stage.server.goOnline("alice")
        #expect(try await eventually { try await channel.recent()?.lastMessage?.text == "5" })
        var texts: [String] = []
        try await missed(channel: channel) { texts.append($0) }
        #expect(texts == ["bob: 2", "bob: 3", "bob: 4", "bob: 5"])
        await stage.server.close()
    }

    @Test("Models update with the list and the timeline, and perform user actions")
    @MainActor
    func screens() async throws {
        let stage = try await Stage(saying: 3)
        let (list, chat) = models(client: stage.alice)
        #expect(try await eventually { list.conversations.count == 1 && chat.items.count == 3 })
        try await use(list: list, chat: chat) { _ in }
        #expect(try await eventually { list.conversations.first?.isPinned == true && chat.items.count == 4 })
        #expect(try await eventually { list.totals.unread == 0 && list.hasLoadedAll })
        await stage.server.close()
    }
}
