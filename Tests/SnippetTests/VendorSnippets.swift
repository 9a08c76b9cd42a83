import Foundation
import Scrollback
import ScrollbackTesting
import Testing

/// The examples of Documentation/coming-from-rongcloud.md.
@Suite("Examples: coming from RongCloud")
struct RongCloudSnippets {
    func pages(chat: Conversation, show: Show<[Message]>) async throws {
        // getMessages: recordTime 0, order Desc, then repeatedly with the returned timestamp
        var page = try await chat.history(.latest, limit: 20)
        show(page.messages)
        while let older = page.older {
            page = try await chat.history(older, limit: 20)
            show(page.messages)
        }
    }

    func calls(chat: Conversation, oldest: Message, time: Date) async throws -> [HistoryPage] {
        [
            // getMessages / getRemoteHistoryMessages with recordTime and order Asc
            try await chat.history(.after(.date(time)), limit: 20, sort: .oldestFirst),
            // getHistoryMessages: oldestMessageId -1, then the ID of the oldest returned message
            try await chat.history(.latest, limit: 20, from: .local),
            try await chat.history(.before(.id(oldest.id)), limit: 20, from: .local),
            // getHistoryMessages: sentTime, beforeCount, afterCount
            try await chat.history(.around(.date(time), before: 10, after: 10), from: .local),
            // getHistoryMessages: objectNames, sentTime, isForward NO (newer messages)
            try await chat.history(.after(.date(time)), matching: .types([.text, .image]), from: .local),
            // getRemoteHistoryMessages: includeLocalExistMessage YES, and NO
            try await chat.history(.before(.date(time)), from: .remote),
            try await chat.history(.before(.date(time)), from: .remote(excludingLocal: true)),
        ]
    }

    func catchUp(client: ChatClient, lastKnown: MessageID, show: Show<Message>) async throws {
        let channel = client.conversation(.community("city", channel: "general"))
        let subscription = channel.subscribe()  // The server now sends new messages.
        for try await message in channel.messages(from: .after(.id(lastKnown))) { show(message) }
        withExtendedLifetime(subscription) {}
    }

    func refresh(client: ChatClient, messages: [Message], show: Show<String>) async throws {
        let references = messages.prefix(20).map { MessageReference($0.id, in: $0.conversation) }
        let result = try await client.refresh(references)
        for (reference, error) in result.notMatched { show("\(reference.id): \(error.message)") }
    }

    func count(client: ChatClient, start: Date, end: Date) async throws -> Int64 {
        // getUltraGroupMessageCountByTimeRange counts startTime < t < endTime, in milliseconds
        let range = Timetoken(start.addingTimeInterval(0.001))..<Timetoken(end)
        return try await client.localMessageCount(in: [.community("city")], range)
    }

    func send(chat: Conversation, show: Show<String>) async throws {
        let sending = try await chat.send(.text("hello"), mentioning: .everyone())  // Returns: attached.
        do {
            show("success: \(try await sending.waitUntilSent().id)")
        } catch {
            show("error: \(error.code)")
            if !error.isTemporary { try await sending.cancel() }
        }
    }

    @Test("The equivalents of RongCloud's calls return the expected pages")
    func reads() async throws {
        let stage = try await Stage(saying: 45)
        var count = 0
        try await pages(chat: stage.chat) { count += $0.count }
        #expect(count == 45)
        let all = try await stage.messages()
        let found = try await calls(chat: stage.chat, oldest: all[40], time: all[44].sentAt)
        #expect(found.map(\.messages.count)[1...2] == [20, 20])
        #expect(found[6].messages.isEmpty)
        var received: [String] = []
        try await send(chat: stage.chat) { received.append($0) }
        try await refresh(client: stage.alice, messages: all) { received.append($0) }
        #expect(received.count == 1)
        await stage.server.close()
    }

    @Test("A channel can be read from the last known message and counted by time")
    func channel() async throws {
        let stage = try await Stage()
        try await stage.server.makeCommunity("city", channels: ["general"], members: ["alice", "bob"])
        let there = stage.bob.conversation(.community("city", channel: "general"))
        let first = try await there.send(.text("1")).waitUntilSent()
        for number in 2...30 { _ = try await there.send(.text("\(number)")).waitUntilSent() }
        // The server announces the newest message of a channel after a delay.
        #expect(try await eventually { try await stage.alice.recents[there.id]?.lastMessage?.text == "30" })
        var messages: [Message] = []
        try await catchUp(client: stage.alice, lastKnown: first.id) { messages.append($0) }
        #expect(messages.numbers == Array(2...30))
        let end = Date() + 60
        #expect(try await count(client: stage.alice, start: first.sentAt - 1, end: end) >= 29)
        await stage.server.close()
    }
}

/// The examples of Documentation/coming-from-sendbird.md.
@Suite("Examples: coming from Sendbird")
struct SendbirdSnippets {
    func query(chat: Conversation, show: Show<[Message]>) async throws {
        // createPreviousMessageListQuery { $0.limit = 20; $0.reverse = false; $0.customTypeFilter = "greeting" }
        let query = chat.pager(limit: 20, sort: .oldestFirst, matching: .customTypes(["greeting"]))
        while query.hasNext {
            show(try await query.next())
        }
    }

    func filters() -> [MessageFilter] {
        [
            .customTypes(["greeting", nil]),  // customTypesFilter ["greeting", ""]
            .types([.text]),  // messageTypeFilter .user
            .hasMedia,  // messageTypeFilter .file
            .senders(["bob", "carol"]),  // senderUserIdsFilter
            .noReplies,  // replyType .none
        ]
    }

    func byTime(chat: Conversation, time: Date, id: MessageID) async throws -> [HistoryPage] {
        [
            // getMessagesByTimestamp: previousResultSize 10, nextResultSize 10, isInclusive true
            try await chat.history(.around(.date(time), before: 10, after: 10), sort: .oldestFirst),
            // getMessagesByMessageId: previousResultSize 20, isInclusive false
            try await chat.history(.before(.id(id)), limit: 20, sort: .oldestFirst),
        ]
    }

    func overlapping(query: HistoryPager, show: Show<String>) async {
        do {
            show("\(try await query.next().count) messages")
        } catch let error where error.code == .queryInProgress {
            show("a page is already loading")
        } catch {
            show("failed, the next call retries the same page: \(error.message)")
        }
    }

    @Test("A pager returns the same pages as Sendbird's query, with its filters")
    func pages() async throws {
        let stage = try await Stage(saying: 3)
        for number in 4...30 { try await stage.chat.send(.text("\(number)"), customType: "greeting") }
        await stage.alice.waitForOutbox()
        var pages: [[Int]] = []
        try await query(chat: stage.chat) { pages.append($0.numbers) }
        #expect(pages == [Array(11...30), Array(4...10)])
        for (filter, count) in zip(filters(), [30, 30, 0, 3]) {
            #expect(try await stage.chat.history(limit: 100, matching: filter).messages.count == count)
        }
        let message = try await stage.messages()[14]
        let found = try await byTime(chat: stage.chat, time: message.sentAt, id: message.id)
        #expect(found[0].messages.count >= 21)
        #expect(found[1].messages.numbers == Array(1...14))
        await stage.server.close()
    }

    @Test("A pager returns a page when no other call is in progress")
    func overlaps() async throws {
        let stage = try await Stage(saying: 3)
        let pager = stage.chat.pager(source: .remote)
        var received: [String] = []
        await overlapping(query: pager) { received.append($0) }
        #expect(received == ["3 messages"])
        await stage.server.close()
    }
}

/// The examples of Documentation/coming-from-nim.md.
@Suite("Examples: coming from NIM")
struct NIMSnippets {
    func recents(client: ChatClient, show: Show<[String]>) async {
        // allRecentSessions, and didAdd, didUpdate, didRemove
        for await list in client.recents.views(limit: 100) {
            show(list.conversations.map { "\($0.id) \($0.unread)" })
        }
    }

    func one(client: ChatClient) async throws -> (recent: RecentConversation?, total: Int64, direct: Int64) {
        let recent = try await client.recents[.direct("bob")]  // recentSessionBySession
        let totals = try await client.recents.totals()
        let direct = totals.unread(of: .direct)  // allUnreadCountOfType
        return (recent, totals.unread, direct)
    }

    func read(client: ChatClient, open: Conversation) async throws {
        for await event in client.events {
            // markAllMessagesReadInSession, for each message while its session is open
            guard case .message(let message) = event, message.conversation == open.id else { continue }
            try await open.markRead(upTo: message.id)
        }
    }

    func readAll(client: ChatClient) async throws {
        // markAllMessagesRead
        try await client.recents.markAllRead()
    }

    func local(chat: Conversation, oldest: Message?, ids: [MessageID]) async throws -> [Message] {
        // messagesInSession:message:limit:
        let anchor = oldest.map { Anchor.before(.id($0.id)) } ?? .latest
        let page = try await chat.history(anchor, limit: 100, sort: .oldestFirst, from: .local)
        // messagesInSession:messageIds:
        let (found, _) = try await chat.localMessages(ids)
        return page.messages + found
    }

    @Test("The list of recents shows counts, and reading resets them")
    func lists() async throws {
        let stage = try await Stage(saying: 3)
        _ = try await stage.bob.conversation(.direct("alice")).send(.text("1")).waitUntilSent()
        let (stream, shown) = AsyncStream.makeStream(of: [String].self)
        let screen = Task { await recents(client: stage.alice) { shown.yield($0) } }
        for await list in stream where list == ["direct:bob 1", "group:swift 3"] { break }
        let counts = try await one(client: stage.alice)
        #expect(counts.recent?.unread == 1)
        #expect(counts.total == 4)
        #expect(counts.direct == 1)
        try await readAll(client: stage.alice)
        #expect(try await eventually { try await stage.alice.recents.view().totalUnread == 0 })
        let reading = Task { try await read(client: stage.alice, open: stage.chat) }
        let direct = stage.bob.conversation(.direct("alice"))
        #expect(
            try await eventually {
                _ = try await stage.bobsChat.send(.text("4")).waitUntilSent()
                _ = try await direct.send(.text("here too")).waitUntilSent()
                let there = try await stage.alice.conversation(.direct("bob")).recent()
                let here = try await stage.chat.recent()
                return here?.unread == 0 && there?.unread ?? 0 > 0
            })
        await stage.server.close()
        await screen.value
        _ = await reading.result
    }

    @Test("Local pages are sorted oldest first")
    func pages() async throws {
        let stage = try await Stage(saying: 30)
        let all = try await stage.messages()
        #expect(try await local(chat: stage.chat, oldest: all[10], ids: [all[3].id]).numbers == Array(1...10) + [4])
        #expect(try await local(chat: stage.chat, oldest: nil, ids: [all[3].id]).count == 31)
        await stage.server.close()
    }
}

/// The examples of Documentation/coming-from-pubnub.md.
@Suite("Examples: coming from PubNub")
struct PubNubSnippets {
    func windows(client: ChatClient, id: ConversationID, start: Timetoken, end: Timetoken) async throws -> [Anchor] {
        let windows: [Anchor] = [
            .latest,  // neither
            .before(.timetoken(start)),  // start only: older, start not included
            .backward(from: .latest, downTo: .timetoken(end)),  // end only: from the newest back, end included
            .backward(from: .timetoken(start), downTo: .timetoken(end)),  // both; start is the newer one
        ]
        for window in windows { _ = try await client.fetchHistory(in: [id], window) }
        return windows
    }

    func pages(client: ChatClient, show: Show<[ConversationID: [Message]]>) async throws {
        // fetchMessageHistory for three channels, limit 10, repeated while there is a next page
        let ids: [ConversationID] = [.group("swift"), .group("rust"), .direct("bob")]
        var batch = try await client.fetchHistory(in: ids, limit: 10)
        show(batch.messages)
        while !batch.next.isEmpty {
            batch = try await client.fetchHistory(after: batch)
            show(batch.messages)
        }
    }

    func patient(chat: Conversation) async throws -> HistoryPage {
        // Overrides the default of 20 seconds and one attempt.
        let page = try await withRequestOptions(RequestOptions(timeout: .seconds(60), retries: 3)) {
            try await chat.history(from: .remote)
        }
        return page
    }

    func deleteRange(chat: Conversation, start: Timetoken, end: Timetoken) async throws -> Int64 {
        // As PubNub documents it: start is the newer point and is included, and end is excluded.
        let (older, newer) = (Timetoken(rawValue: end.rawValue + 1), Timetoken(rawValue: start.rawValue + 1))
        let gone = try await chat.deleteHistory(from: .timetoken(older), to: .timetoken(newer))
        return gone
    }

    func last(client: ChatClient) async throws -> Message? {
        let id = ConversationID.group("swift")
        return try await client.fetchHistory(in: [id], limit: 1).messages[id]?.first
    }

    func actions(client: ChatClient, show: Show<String>) async throws {
        let batch = try await client.fetchHistory(in: [.group("swift")], includingActions: true)
        for action in batch.actions { show("\(action.sender): \(action.value)") }
    }

    func counts(client: ChatClient, lastRead: Timetoken, show: Show<[ConversationID: Int64]>) async throws {
        let everything = Timetoken(rawValue: 0)
        show(try await client.messageCounts(since: [.group("swift"): lastRead, .direct("bob"): everything]))
    }

    func react(chat: Conversation, message: Message, show: Show<String>) async throws {
        try await chat.react("👍", to: message.id)  // addMessageAction
        try await chat.unreact("👍", from: message.id)  // removeMessageAction
        var (actions, next) = try await chat.actions(limit: 100)  // fetchMessageActions
        while let after = next {
            let page = try await chat.actions(after: after, limit: 100)
            actions += page.actions
            next = page.next
        }
        show("\(actions.count) actions")
    }

    func publish(chat: Conversation) async throws -> Timetoken {
        let stored = try await chat.send(.text("hello"), metadata: RawJSON(#"{"lang": "en"}"#)).waitUntilSent()
        try await chat.send(.text("not stored"), traits: .init(isStored: false))  // storeInHistory false
        return stored.timetoken
    }

    @Test("Time windows return the same messages as PubNub's bounds")
    func bounds() async throws {
        let stage = try await Stage(saying: 10)
        let all = try await stage.messages()
        let found = try await windows(
            client: stage.alice, id: Stage.group, start: all[7].timetoken, end: all[3].timetoken)
        var pages: [[Int]] = []
        for window in found {
            let batch = try await stage.alice.fetchHistory(in: [Stage.group], window)
            pages.append(batch.messages[Stage.group]?.numbers ?? [])
        }
        #expect(pages == [Array(1...10), Array(1...7), Array(4...10), Array(4...7)])
        let nothing = try await stage.alice.fetchHistory(
            in: [Stage.group], .backward(from: .timetoken(all[3].timetoken), downTo: .timetoken(all[7].timetoken)))
        #expect(nothing.messages[Stage.group] == [])
        await stage.server.close()
    }

    @Test("Batches, the last message, counts and actions match PubNub's calls")
    func asks() async throws {
        let stage = try await Stage(saying: 25)
        try await stage.server.makeGroup("rust", members: ["alice", "bob"])
        _ = try await stage.bob.conversation(.direct("alice")).send(.text("1")).waitUntilSent()
        var count = 0
        try await pages(client: stage.alice) { count += $0.values.map(\.count).reduce(0, +) }
        #expect(count == 26)
        let message = try #require(try await last(client: stage.alice))
        #expect(message.text == "25")
        #expect(try await patient(chat: stage.chat).messages.count == 20)
        let tool = try await stage.server.client("admin").conversation(Stage.group)
        let all = try await stage.messages()
        while true {
            // The administrator's client may still be connecting.
            if (try? await deleteRange(chat: tool, start: all[1].timetoken, end: all[0].timetoken)) == 1 { break }
            try await Task.sleep(for: .milliseconds(5))
        }
        #expect(try await stage.messages().count == 24)
        var received: [ConversationID: Int64] = [:]
        try await counts(client: stage.alice, lastRead: message.timetoken) { received = $0 }
        #expect(received == [Stage.group: 1, .direct("bob"): 1])
        var lines: [String] = []
        _ = try await stage.chat.react("🎉", to: message.id).waitUntilSent()
        try await actions(client: stage.alice) { lines.append($0) }
        #expect(lines == ["alice: 🎉"])
        try await react(chat: stage.chat, message: message) { lines.append($0) }
        #expect(lines.last?.hasSuffix(" actions") == true)
        #expect(try await publish(chat: stage.chat) > message.timetoken)
        await stage.alice.waitForOutbox()
        #expect(try await last(client: stage.alice)?.text == "hello")
        await stage.server.close()
    }
}
