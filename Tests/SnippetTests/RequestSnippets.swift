import Foundation
import Scrollback
import ScrollbackTesting
import Testing

/// The examples of the articles on search, on several conversations and on offline use.
@Suite("Examples: search, several conversations, offline")
struct RequestSnippets {
    func search(chat: Conversation, show: Show<[String]>) async throws {
        var page = try await chat.search("mig data", limit: 20)
        show(page.hits.map(\.text))
        while let next = page.next {
            page = try await chat.search("mig data", limit: 20, after: next)
            show(page.hits.map(\.text))
        }
    }

    func highlight(client: ChatClient, show: Show<String>) async throws {
        let found = try await client.search("data", sort: .bestFirst)
        for hit in found.hits {
            let words = hit.highlights.map { hit.text[$0] }
            show("\(hit.text): \(words.joined(separator: ", "))")
        }
    }

    func open(hit: SearchHit, client: ChatClient, show: Show<[Timeline.Item]>) async {
        let timeline = client.conversation(hit.message.conversation).timeline(at: .id(hit.message.id))
        for await view in timeline.views { show(view.items) }
    }

    func several(client: ChatClient, ids: [ConversationID], show: Show<(ConversationID, [Message])>) async throws {
        var batch = try await client.fetchHistory(in: ids, limit: 10)
        while true {
            for (id, messages) in batch.messages where !messages.isEmpty { show((id, messages)) }
            if batch.next.isEmpty { break }
            batch = try await client.fetchHistory(after: batch)
        }
    }

    func counts(client: ChatClient, lastRead: Timetoken, show: Show<String>) async throws {
        let after = Timetoken(rawValue: lastRead.rawValue + 1)
        let counts = try await client.messageCounts(since: [.group("swift"): after, .direct("bob"): after])
        show("\(counts[.group("swift")] ?? 0) in the group, \(counts[.direct("bob")] ?? 0) from bob")
    }

    func refresh(client: ChatClient, messages: [Message]) async throws -> [Message] {
        let references = messages.prefix(20).map { MessageReference($0.id, in: $0.conversation) }
        let result = try await client.refresh(references)
        return result.matched
    }

    func sendAndLeave(client: ChatClient) async throws {
        try await client.conversation(.direct("bob")).send(.text("on my way"))
        await client.waitForOutbox()  // Returns when all messages were sent or refused.
        await client.close()
    }

    func isOffline(client: ChatClient, show: Show<Bool>) async {
        for await state in client.connection {
            if case .waiting = state { show(true) }
            if case .online = state { show(false) }
        }
    }

    func retry(client: ChatClient, chat: Conversation) async throws -> HistoryPage {
        let page = try await chat.history(.latest, limit: 50)
        guard page.remoteError?.isTemporary == true else { return page }
        client.retryConnection()
        return try await chat.history(.latest, limit: 50)
    }

    @Test("Search finds messages, highlights the terms, and opens a hit in a timeline")
    func finds() async throws {
        let stage = try await Stage()
        for text in ["data migration", "migrating the data", "something else"] {
            _ = try await stage.chat.send(.text(text)).waitUntilSent()
        }
        var found: [[String]] = []
        try await search(chat: stage.chat) { found.append($0) }
        #expect(found.flatMap { $0 } == ["migrating the data", "data migration"])
        var texts: [String] = []
        try await highlight(client: stage.alice) { texts.append($0) }
        #expect(Set(texts) == ["data migration: data", "migrating the data: data"])
        let hit = try #require(try await stage.chat.search("else").hits.first)
        let (stream, shown) = AsyncStream.makeStream(of: Int.self)
        let screen = Task { await open(hit: hit, client: stage.alice) { shown.yield($0.count) } }
        for await count in stream where count == 3 { break }
        await stage.server.close()
        await screen.value
    }

    @Test("A batch reads every conversation to its end, and counts start at a time")
    func reads() async throws {
        let stage = try await Stage(saying: 95)
        var bobs: [Message] = []
        for text in ["a", "b"] {
            bobs.append(try await stage.bob.conversation(.direct("alice")).send(.text(text)).waitUntilSent())
        }
        var read: [ConversationID: Int] = [:]
        try await several(client: stage.alice, ids: [Stage.group, .direct("bob")]) { id, messages in
            read[id, default: 0] += messages.count
        }
        #expect(read == [Stage.group: 95, .direct("bob"): 2])
        var received: [String] = []
        try await counts(client: stage.alice, lastRead: bobs[0].timetoken) { received.append($0) }
        #expect(received == ["0 in the group, 1 from bob"])
        #expect(try await eventually { try await stage.alice.recents.view().totalUnread == 97 })
        #expect(try await refresh(client: stage.alice, messages: stage.messages()).count == 20)
        await stage.server.close()
    }

    @Test("A message sent offline is delivered later, and an offline page has a shortfall")
    func offline() async throws {
        let stage = try await Stage(saying: 5)
        let (stream, shown) = AsyncStream.makeStream(of: Bool.self)
        _ = try await stage.messages()
        let banner = Task { await isOffline(client: stage.alice) { shown.yield($0) } }
        stage.server.goOffline("alice")
        for await isOffline in stream where isOffline { break }
        #expect(try await retry(client: stage.alice, chat: stage.chat).messages.count == 5)
        stage.server.goOnline("alice")
        for await isOffline in stream where !isOffline { break }
        try await sendAndLeave(client: stage.alice)
        #expect(try stage.server.messages(in: .direct(between: "alice", and: "bob")).count == 1)
        await stage.server.close()
        await banner.value
    }
}
