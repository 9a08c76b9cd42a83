import ContractRows
import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import TestSupport
import Testing

/// Tests what clients load by themselves, what a message contains, retention, and limits of history requests.
@Suite("Extent of history")
struct HistoryExtentTests {
    private let group = ConversationID.group("swift")
    private let admin = Caller(user: "admin", isAdmin: true)

    // MARK: Automatic loading

    @Test("A connecting client gets only the last message of a channel, and the rest on request", .rows(3))
    func lastMessageOnly() async throws {
        let server = try TestServer()
        try await server.makeCommunity("city", channels: ["general"], members: ["alice", "bob"])
        let general = ConversationID.community("city", channel: "general")
        let alice = try await server.client("alice")
        var ids: [MessageID] = []
        for number in 1...30 {
            ids.append(try await alice.conversation(general).send(.text("\(number)")).waitUntilSent().id)
        }
        let bob = try await server.client("bob")
        let chat = bob.conversation(general)
        #expect(try await eventually { try await chat.localMessages([ids[29]]).found.map(\.text) == ["30"] })
        #expect(
            try await chat.localMessages([ids[3], ids[28]]).missing == [ids[3], ids[28]],
            "The client does not have these messages.")
        let local = try await chat.history(.latest, limit: 100, from: .local)
        #expect(local.messages.map(\.text) == ["30"])
        #expect(local.gap == 1...29)
        #expect(try await chat.history(.latest, limit: 100).messages.count == 30)
        await server.close()
    }

    @Test("Messages to a community without a channel are separate from its other channels", .rows(5, 71, 80))
    func withoutChannel() async throws {
        let server = try TestServer()
        try await server.makeCommunity("city", channels: ["general"], members: ["alice", "bob"])
        let (city, general) = (ConversationID.community("city"), ConversationID.community("city", channel: "general"))
        let alice = try await server.client("alice")
        _ = try await alice.conversation(city).send(.text("to no channel")).waitUntilSent()
        _ = try await alice.conversation(general).send(.text("to general")).waitUntilSent()
        let bob = try await server.client("bob")
        #expect(try await bob.conversation(city).history().messages.map(\.text) == ["to no channel"])
        #expect(try await bob.conversation(general).history().messages.map(\.text) == ["to general"])
        // The recents list has two entries.
        #expect(
            try await eventually {
                Set(try await bob.recents.view(limit: 10).conversations.map(\.id)) == [city.logID, general]
            })
        _ = try await bob.conversation(city).clear().waitForCompletion()
        #expect(try await bob.conversation(city).history(from: .remote).messages.isEmpty)
        #expect(try await bob.conversation(general).history(from: .remote).messages.map(\.text) == ["to general"])
        await server.close()
    }

    @Test("A remote page leaves other gaps open, and a merged page fills them", .rows(49))
    func remotePageFillsNoGap() async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let alice = try await server.client("alice")
        for number in 1...30 { _ = try await alice.conversation(group).send(.text("\(number)")) }
        await alice.waitForOutbox()
        let bob = try await server.client("bob")
        let chat = bob.conversation(group)
        _ = try await chat.history(.before(.seq(6)), limit: 5, from: .remote)
        _ = try await chat.history(.latest, limit: 5, from: .remote)
        let local = try await chat.history(.latest, limit: 100, sort: .oldestFirst, from: .local)
        #expect(local.messages.map(\.seq) == Array(26...30), "The messages below the gap are not adjacent.")
        #expect(local.gap == 6...25)
        let remote = try await chat.history(.before(.seq(26)), limit: 3, sort: .oldestFirst, from: .remote)
        #expect(remote.messages.map(\.seq) == [23, 24, 25], "The page is the server's, regardless of local messages.")
        let merged = try await chat.history(.latest, limit: 100, sort: .oldestFirst)
        #expect(merged.messages.map(\.seq) == Array(1...30))
        await server.close()
    }

    @Test("A reaction that was added while a client was offline reaches that client", .rows(276))
    func reactionReachesOfflineClient() async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let (alice, bob) = (try await server.client("alice"), try await server.client("bob"))
        let id = try await alice.conversation(group).send(.text("hi")).waitUntilSent().id
        #expect(try await eventually { try await alice.conversation(group).localMessages([id]).found.count == 1 })
        server.goOffline("alice")
        _ = try await bob.conversation(group).react("👍", to: id).waitUntilSent()
        server.goOnline("alice")
        #expect(
            try await eventually {
                try await alice.conversation(group).localMessages([id]).found.first?.actions
                    == [ActionSummary(type: "reaction", value: "👍", count: 1, senders: ["bob"])]
            })
        await server.close()
    }

    // MARK: Parts of a message

    @Test(
        "A message has its sender, types, metadata, reply reference, replies and reactions in every source",
        .rows(166, 245, 246), arguments: [HistorySource.local, .remote, .merged])
    func messagesAreCompleteInEverySource(source: HistorySource) async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let alice = try await server.client("alice")
        let chat = alice.conversation(group)
        let root = try await chat.send(
            .text("root"), metadata: try RawJSON(#"{"lang":"ar","اسم":"🌍"}"#), customType: "poll"
        ).waitUntilSent()
        let reply = try await chat.send(.text("reply"), replyingTo: root.id).waitUntilSent()
        _ = try await chat.react("👍", to: root.id).waitUntilSent()
        var messages: [Message] = []
        let isThere = try await eventually {
            messages = try await chat.history(.latest, limit: 10, sort: .oldestFirst, from: source).messages
            return messages.count == 2 && messages[0].actions.count == 1 && messages[0].replies != nil
        }
        try #require(isThere)
        let (first, second) = (messages[0], messages[1])
        #expect(first.sender == "alice" && first.type == .text && first.attributes.customType == "poll")
        #expect(first.attributes.metadata?.text == #"{"lang":"ar","اسم":"🌍"}"#)
        #expect(first.replies?.count == 1 && first.replies?.lastReplyAt == reply.timetoken)
        #expect(first.actions.map(\.value) == ["👍"])
        #expect(second.attributes.replyTo == root.id && second.thread == root.id)
        let thread = try await chat.history(.latest, limit: 10, matching: .thread(root.id), from: source)
        #expect(thread.messages.map(\.id) == [reply.id], "A thread filter returns only replies.")
        let others = try await chat.history(.latest, limit: 10, matching: .noReplies, from: source)
        #expect(others.messages.map(\.id) == [root.id], "Replies can be left out.")
        let both = await #expect(throws: ChatError.self) {
            try await chat.history(matching: .init(thread: root.id, excludesReplies: true), from: source)
        }
        #expect(both?.parameter == "excludesReplies")
        await server.close()
    }

    @Test("A page with actions can end early, and the next page continues without repeating a message", .rows(244, 247))
    func cutPages() async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let alice = try await server.client("alice")
        var ids: [MessageID] = []
        for number in 1...25 {
            let id = try await alice.conversation(group).send(.text("\(number)")).waitUntilSent().id
            ids.append(id)
            for value in 0..<99 {
                server.engine.addAction(
                    to: id, in: group, type: "mark", value: "\(value) " + String(repeating: "x", count: 100),
                    by: Caller(user: value < 49 ? "alice" : "bob")
                ) { _ in }
            }
        }
        // The log is written in order, so the last write completes last.
        _ = try await alice.conversation(group).react("👍", to: ids[0]).waitUntilSent()
        _ = try await alice.conversation(group).unreact("👍", from: ids[0]).waitUntilSent()
        var batch = try await alice.fetchHistory(in: [group], limit: 25, sort: .newestFirst, includingActions: true)
        var pages = [batch.messages[group] ?? []]
        var actions = batch.actions
        while !batch.next.isEmpty {
            batch = try await alice.fetchHistory(after: batch)
            pages.append(batch.messages[group] ?? [])
            actions += batch.actions
        }
        #expect(pages.count > 1 && pages[0].count < 25, "The page ended early.")
        #expect(pages.flatMap { $0 }.map(\.id) == ids.reversed())
        #expect(actions.count == 2_475, "The following batches have actions too.")
        #expect(Set(actions).count == 2_475)
        await server.close()
    }

    // MARK: Retention

    @Test(
        "Messages are kept for the number of days of the server or the conversation, or forever",
        .rows(231), arguments: [1, 3, 5, 7, 15, 30, 90, nil])
    func retention(days: Int?) async throws {
        let policy = days.map { RetentionPolicy.days($0) } ?? .forever
        let own = ConversationID.group("own")
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice"])
        try await server.makeGroup("own", members: ["alice"])
        try await server.set { $0.retention = policy }
        try await server.perform {
            $0.putConversation(own, ConversationSettings(retention: .set(.forever)), by: admin, completion: $1)
        }
        let alice = try await server.client("alice")
        for id in [group, own] { _ = try await alice.conversation(id).send(.text("old")).waitUntilSent() }
        let day = 86_400.0
        server.advance(by: Double(days ?? 40_000) * day - 7_200)
        try await server.engine.expire()
        #expect(try server.messages(in: group).map(\.text) == ["old"], "The messages expire two hours later.")
        server.advance(by: 3 * 3_600 + 7_200)
        try await server.engine.expire()
        #expect(try server.messages(in: group).map(\.text) == (days == nil ? ["old"] : []))
        #expect(
            try server.messages(in: own).map(\.text) == ["old"], "The conversation's own retention takes precedence.")
        await server.close()
    }

    @Test(
        "With history disabled, history requests fail and messages are still delivered", .rows(232)
    )
    func historySwitchedOff() async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let (alice, bob) = (try await server.client("alice"), try await server.client("bob"))
        let first = try await alice.conversation(group).send(.text("1")).waitUntilSent()
        try await server.set { $0.allowsHistory = false }
        let chat = bob.conversation(group)
        #expect(try await eventually { try await bob.texts(in: group) == ["1"] }, "The client keeps received messages.")
        _ = try await alice.conversation(group).send(.text("2")).waitUntilSent()
        #expect(
            try await eventually { try await bob.texts(in: group) == ["1", "2"] }, "The client receives later messages."
        )
        let calls: [(String, () async throws -> Void)] = [
            ("history", { _ = try await chat.history(from: .remote) }),
            ("fetchHistory", { _ = try await bob.fetchHistory(in: [group]) }),
            ("messageCounts", { _ = try await bob.messageCounts(since: [group: first.timetoken]) }),
            ("refresh", { _ = try await bob.refresh([MessageReference(first.id, in: group)]) }),
            ("actions", { _ = try await chat.actions() }),
            ("search", { _ = try await chat.search("1", from: .remote) }),
        ]
        for (name, call) in calls {
            let error = await #expect(throws: ChatError.self, "\(name)") { try await call() }
            #expect(error?.code == .persistenceDisabled, "\(name)")
        }
        let merged = try await chat.history(.before(.seq(3)), matching: .types([.text]))
        #expect(merged.messages.map(\.text) == ["2", "1"])
        #expect(merged.remoteError?.code == .persistenceDisabled, "The shortfall says why messages are missing.")
        #expect(try server.messages(in: group).count == 2, "The administrator can read the messages.")
        await server.close()
    }

    @Test(
        "A new device reads the history of direct conversations and groups from the server, unless it is turned off",
        .rows(6), arguments: [ConversationID.direct("bob"), .group("swift")])
    func historyIsOnByDefault(_ id: ConversationID) async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let alice = try await server.client("alice")
        for number in 1...3 { _ = try await alice.conversation(id).send(.text("\(number)")).waitUntilSent() }
        for (reader, id) in [("alice" as UserID, id), ("bob", id == .direct("bob") ? .direct("alice") : id)] {
            let chat = try await server.client(reader).conversation(id)
            #expect(try await chat.history(from: .remote).messages.map(\.text) == ["3", "2", "1"], "\(reader)")
        }
        try await server.set { $0.allowsHistory = false }
        let new = try await server.client("alice")
        let error = await #expect(throws: ChatError.self) { try await new.conversation(id).history(from: .remote) }
        #expect(error?.code == .persistenceDisabled)
        await server.close()
    }

    // MARK: Requests

    @Test("Anchors after the newest or before the oldest message are refused by name", .rows(40))
    func beyondTheEnds() async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice"])
        let alice = try await server.client("alice")
        let chat = alice.conversation(group)
        for anchor in [Anchor.after(.latest), .before(.earliest)] {
            for source in [HistorySource.local, .remote, .merged] {
                let error = await #expect(throws: ChatError.self) { try await chat.history(anchor, from: source) }
                #expect(error?.code == .invalidParameter && error?.parameter == "anchor")
            }
            let error = await #expect(throws: ChatError.self) { try await alice.fetchHistory(in: [group], anchor) }
            #expect(error?.parameter == "anchor")
        }
        #expect(try await chat.history(.latest).messages.isEmpty)
        #expect(try await chat.history(.earliest).messages.isEmpty)
        await server.close()
    }

    @Test("Request options set the number of retries, and values out of range are refused", .rows(248))
    func requestOptions() async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice"])
        let alice = try await server.client("alice")
        let chat = alice.conversation(group)
        _ = try await chat.send(.text("hi")).waitUntilSent()
        server.goOffline("alice")
        #expect(try await eventually { (try? await chat.history(from: .remote)) == nil })
        let once = await #expect(throws: ChatError.self) { try await chat.history(from: .remote) }
        #expect(once?.isTemporary == true)
        async let patient = withRequestOptions(RequestOptions(timeout: .seconds(5), retries: 10)) {
            try await chat.history(from: .remote)
        }
        try await Task.sleep(for: .milliseconds(50))
        server.goOnline("alice")
        #expect(
            try await patient.messages.map(\.text) == ["hi"], "The request is retried until the server is reachable.")
        for options in [RequestOptions(timeout: .zero), RequestOptions(retries: 11), RequestOptions(retries: -1)] {
            let error = await #expect(throws: ChatError.self) {
                try await withRequestOptions(options) { try await chat.history(from: .remote) }
            }
            #expect(error?.parameter == (options.timeout == .zero ? "timeout" : "retries"))
        }
        await server.close()
    }

    @Test("A user with permission can delete history ranges through the SDK", .rows(223, 257, 259, 260))
    func deleteHistory() async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let alice = try await server.client("alice")
        for number in 1...9 { _ = try await alice.conversation(group).send(.text("\(number)")) }
        await alice.waitForOutbox()
        let refused = await #expect(throws: ChatError.self) {
            try await alice.conversation(group).deleteHistory(from: .earliest, to: .latest)
        }
        #expect(refused?.code == .forbidden)
        #expect(try server.messages(in: group).count == 9)
        let chat = try await server.client("admin").conversation(group)
        let ids = try server.messages(in: group).map(\.id)
        #expect(try await eventually { (try? await chat.deleteHistory(from: .seq(2), to: .seq(2))) == 0 })
        #expect(try await chat.deleteHistory(from: .id(ids[2]), to: .id(ids[5])) == 3, "The range is half-open.")
        #expect(try await chat.deleteHistory(from: .earliest, to: .seq(2)) == 1)
        #expect(try await eventually { try await alice.texts(in: group) == ["2", "6", "7", "8", "9"] })
        let unknown = await #expect(throws: ChatError.self) {
            try await chat.deleteHistory(from: .id(MessageID(UUID())), to: .latest)
        }
        #expect(unknown?.code == .unknownMessage)
        #expect(try await chat.deleteHistory(from: .earliest, to: .latest) == 5)
        #expect(try server.messages(in: group).isEmpty)
        await server.close()
    }
}
