import ContractRows
import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import Testing

/// How much of a history there is: what a message comes with, how long it is kept, and what is told without being asked.
@Suite("The extent of history")
struct HistoryExtentTests {
    private let group = ConversationID.group("swift")
    private let admin = Caller(user: "admin", isAdmin: true)

    // MARK: What comes by itself

    @Test("Of a community's channel a device that connects gets the last message, and the rest when it asks", .rows(3))
    func lastMessageOnly() async throws {
        let world = try ChatWorld()
        try await world.makeCommunity("city", channels: ["general"], members: ["alice", "bob"])
        let general = ConversationID.community("city", channel: "general")
        let alice = try await world.client("alice")
        var ids: [MessageID] = []
        for number in 1...30 {
            ids.append(try await alice.conversation(general).send(.text("\(number)")).delivered().id)
        }
        let bob = try await world.client("bob")
        let chat = bob.conversation(general)
        #expect(try await eventually { try await chat.localMessages([ids[29]]).found.map(\.text) == ["30"] })
        #expect(try await chat.localMessages([ids[3], ids[28]]).missing == [ids[3], ids[28]], "known by id elsewhere")
        let local = try await chat.history(.latest, limit: 100, from: .local)
        #expect(local.messages.map(\.text) == ["30"])
        #expect(local.gap == 1...29)
        #expect(try await chat.history(.latest, limit: 100).messages.count == 30)
        await world.close()
    }

    @Test("What is said without a channel is read without one, and lies in no other channel", .rows(5, 71, 80))
    func withoutChannel() async throws {
        let world = try ChatWorld()
        try await world.makeCommunity("city", channels: ["general"], members: ["alice", "bob"])
        let (city, general) = (ConversationID.community("city"), ConversationID.community("city", channel: "general"))
        let alice = try await world.client("alice")
        _ = try await alice.conversation(city).send(.text("to no channel")).delivered()
        _ = try await alice.conversation(general).send(.text("to general")).delivered()
        let bob = try await world.client("bob")
        #expect(try await bob.conversation(city).history().messages.map(\.text) == ["to no channel"])
        #expect(try await bob.conversation(general).history().messages.map(\.text) == ["to general"])
        // The list has the two as two.
        #expect(
            try await eventually {
                Set(try await bob.recents.view(limit: 10).conversations.map(\.id)) == [city.log, general]
            })
        _ = try await bob.conversation(city).clear().finished()
        #expect(try await bob.conversation(city).history(from: .remote).messages.isEmpty)
        #expect(try await bob.conversation(general).history(from: .remote).messages.map(\.text) == ["to general"])
        await world.close()
    }

    @Test("The server is asked as it is: a remote page fills no gap beside it, and a merged one does", .rows(49))
    func remoteFillsNothing() async throws {
        let world = try ChatWorld()
        try await world.makeGroup("swift", members: ["alice", "bob"])
        let alice = try await world.client("alice")
        for number in 1...30 { _ = try await alice.conversation(group).send(.text("\(number)")) }
        await alice.flushed()
        let bob = try await world.client("bob")
        let chat = bob.conversation(group)
        _ = try await chat.history(.before(.seq(6)), limit: 5, from: .remote)
        _ = try await chat.history(.latest, limit: 5, from: .remote)
        let local = try await chat.history(.latest, limit: 100, sort: .oldestFirst, from: .local)
        #expect(local.messages.map(\.seq) == Array(26...30), "what lies below the gap is not taken for what is next")
        #expect(local.gap == 6...25)
        let remote = try await chat.history(.before(.seq(26)), limit: 3, sort: .oldestFirst, from: .remote)
        #expect(remote.messages.map(\.seq) == [23, 24, 25], "the server's page, whatever is here")
        let merged = try await chat.history(.latest, limit: 100, sort: .oldestFirst)
        #expect(merged.messages.map(\.seq) == Array(1...30))
        await world.close()
    }

    @Test("An action that was stored while nobody could be told reaches the device that was away", .rows(276))
    func actionsReachLater() async throws {
        let world = try ChatWorld()
        try await world.makeGroup("swift", members: ["alice", "bob"])
        let (alice, bob) = (try await world.client("alice"), try await world.client("bob"))
        let id = try await alice.conversation(group).send(.text("hi")).delivered().id
        #expect(try await eventually { try await alice.conversation(group).localMessages([id]).found.count == 1 })
        world.goOffline("alice")
        _ = try await bob.conversation(group).react("👍", to: id).delivered()
        world.goOnline("alice")
        #expect(
            try await eventually {
                try await alice.conversation(group).localMessages([id]).found.first?.actions
                    == [ActionSummary(type: "reaction", value: "👍", count: 1, senders: ["bob"])]
            })
        await world.close()
    }

    // MARK: What a message comes with

    @Test(
        "A message always has who sent it, its types, its metadata, what it answers, its replies and its reactions",
        .rows(166, 245, 246), arguments: [HistorySource.local, .remote, .merged])
    func whatComesAlong(source: HistorySource) async throws {
        let world = try ChatWorld()
        try await world.makeGroup("swift", members: ["alice", "bob"])
        let alice = try await world.client("alice")
        let chat = alice.conversation(group)
        let root = try await chat.send(
            .text("root"), metadata: try RawJSON(#"{"lang":"ar","اسم":"🌍"}"#), customType: "poll"
        ).delivered()
        let reply = try await chat.send(.text("reply"), replyingTo: root.id).delivered()
        _ = try await chat.react("👍", to: root.id).delivered()
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
        let thread = try await chat.history(.latest, limit: 10, matching: .thread(root.id), from: .remote)
        #expect(thread.messages.map(\.id) == [reply.id], "replies alone, where somebody wants only those")
        await world.close()
    }

    @Test("With actions a page may be cut short, and goes on where it was cut: each message once", .rows(244, 247))
    func cutPages() async throws {
        let world = try ChatWorld()
        try await world.makeGroup("swift", members: ["alice"])
        let alice = try await world.client("alice")
        var ids: [MessageID] = []
        for number in 1...25 {
            let id = try await alice.conversation(group).send(.text("\(number)")).delivered().id
            ids.append(id)
            for value in 0..<100 {
                world.engine.addAction(
                    to: id, in: group, type: "mark", value: "\(value) " + String(repeating: "x", count: 100),
                    by: Caller(user: "alice")
                ) { _ in }
            }
        }
        // The log is written in order: what comes last is done last.
        _ = try await alice.conversation(group).react("👍", to: ids[0]).delivered()
        _ = try await alice.conversation(group).unreact("👍", from: ids[0]).delivered()
        var batch = try await alice.fetchHistory(in: [group], limit: 25, sort: .newestFirst, includingActions: true)
        var pages = [batch.messages[group] ?? []]
        var actions = batch.actions
        while !batch.next.isEmpty {
            batch = try await alice.fetchHistory(after: batch)
            pages.append(batch.messages[group] ?? [])
            actions += batch.actions
        }
        #expect(pages.count > 1 && pages[0].count < 25, "the page was cut")
        #expect(pages.flatMap { $0 }.map(\.id) == ids.reversed())
        #expect(actions.count == 2_500, "the batches that go on have them too")
        #expect(Set(actions).count == 2_500)
        await world.close()
    }

    // MARK: Keeping

    @Test(
        "Messages are kept for any number of days, or for ever, by the server's setting or a conversation's own",
        .rows(231), arguments: [1, 3, 5, 7, 15, 30, 90, nil])
    func retention(days: Int?) async throws {
        let policy = days.map { RetentionPolicy.days($0) } ?? .forever
        let own = ConversationID.group("own")
        let world = try ChatWorld()
        try await world.makeGroup("swift", members: ["alice"])
        try await world.makeGroup("own", members: ["alice"])
        try await world.set { $0.retention = policy }
        try await world.perform {
            $0.putConversation(own, ConversationSettings(retention: .some(.forever)), by: admin, completion: $1)
        }
        let alice = try await world.client("alice")
        for id in [group, own] { _ = try await alice.conversation(id).send(.text("old")).delivered() }
        let day = 86_400.0
        world.advance(by: Double(days ?? 40_000) * day - 7_200)
        try await world.engine.expire()
        #expect(try world.messages(in: group).map(\.text) == ["old"], "two hours before its time")
        world.advance(by: 3 * 3_600 + 7_200)
        try await world.engine.expire()
        #expect(try world.messages(in: group).map(\.text) == (days == nil ? ["old"] : []))
        #expect(try world.messages(in: own).map(\.text) == ["old"], "a conversation's own policy comes first")
        await world.close()
    }

    @Test(
        "Where the operator keeps no history it can't be read back, and messages are delivered all the same", .rows(232)
    )
    func historySwitchedOff() async throws {
        let world = try ChatWorld()
        try await world.makeGroup("swift", members: ["alice", "bob"])
        let (alice, bob) = (try await world.client("alice"), try await world.client("bob"))
        let first = try await alice.conversation(group).send(.text("1")).delivered()
        try await world.set { $0.allowsHistory = false }
        let chat = bob.conversation(group)
        #expect(try await eventually { try await bob.texts(in: group) == ["1"] }, "what came is here")
        _ = try await alice.conversation(group).send(.text("2")).delivered()
        #expect(try await eventually { try await bob.texts(in: group) == ["1", "2"] }, "and goes on coming")
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
        #expect(merged.shortfall?.code == .persistenceDisabled, "the rest is not to be had, and why")
        #expect(try world.messages(in: group).count == 2, "an administrator can look")
        await world.close()
    }

    // MARK: Asking

    @Test("To newer from the newest end, or to older from the oldest, is refused by name", .rows(40))
    func beyondTheEnds() async throws {
        let world = try ChatWorld()
        try await world.makeGroup("swift", members: ["alice"])
        let alice = try await world.client("alice")
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
        await world.close()
    }

    @Test("A question has a time limit and a number of tries of its own", .rows(248))
    func requestOptions() async throws {
        let world = try ChatWorld()
        try await world.makeGroup("swift", members: ["alice"])
        let alice = try await world.client("alice")
        let chat = alice.conversation(group)
        _ = try await chat.send(.text("hi")).delivered()
        world.goOffline("alice")
        #expect(try await eventually { (try? await chat.history(from: .remote)) == nil })
        let once = await #expect(throws: ChatError.self) { try await chat.history(from: .remote) }
        #expect(once?.isTemporary == true)
        async let patient = withRequestOptions(RequestOptions(timeout: .seconds(5), retries: 10)) {
            try await chat.history(from: .remote)
        }
        try await Task.sleep(for: .milliseconds(50))
        world.goOnline("alice")
        #expect(try await patient.messages.map(\.text) == ["hi"], "it is asked again until the server is there")
        for options in [RequestOptions(timeout: .zero), RequestOptions(retries: 11), RequestOptions(retries: -1)] {
            let error = await #expect(throws: ChatError.self) {
                try await withRequestOptions(options) { try await chat.history(from: .remote) }
            }
            #expect(error?.parameter == (options.timeout == .zero ? "timeout" : "retries"))
        }
        await world.close()
    }

    @Test("Ranges are deleted from the SDK too, by whoever may", .rows(223, 257, 259, 260))
    func deleteHistory() async throws {
        let world = try ChatWorld()
        try await world.makeGroup("swift", members: ["alice", "bob"])
        let alice = try await world.client("alice")
        for number in 1...9 { _ = try await alice.conversation(group).send(.text("\(number)")) }
        await alice.flushed()
        let refused = await #expect(throws: ChatError.self) {
            try await alice.conversation(group).deleteHistory(from: .earliest, to: .latest)
        }
        #expect(refused?.code == .forbidden)
        #expect(try world.messages(in: group).count == 9)
        let chat = try await world.client("admin").conversation(group)
        let ids = try world.messages(in: group).map(\.id)
        #expect(try await eventually { (try? await chat.deleteHistory(from: .seq(2), to: .seq(2))) == 0 })
        #expect(try await chat.deleteHistory(from: .id(ids[2]), to: .id(ids[5])) == 3, "half-open")
        #expect(try await chat.deleteHistory(from: .earliest, to: .seq(2)) == 1)
        #expect(try await eventually { try await alice.texts(in: group) == ["2", "6", "7", "8", "9"] })
        let unknown = await #expect(throws: ChatError.self) {
            try await chat.deleteHistory(from: .id(MessageID(UUID())), to: .latest)
        }
        #expect(unknown?.code == .unknownMessage)
        #expect(try await chat.deleteHistory(from: .earliest, to: .latest) == 5)
        #expect(try world.messages(in: group).isEmpty)
        await world.close()
    }
}
