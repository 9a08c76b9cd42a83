import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import TestSupport
import Testing

extension UnreadCountIssueTests {
    // MARK: Totals

    /// Expects that the server and the clients have the same totals, by kind and by mute state, and that their lists
    /// add up to these totals.
    func expectTotals(
        _ wanted: [ConversationKind: Int64], muted: Int64 = 0, on devices: [ChatClient], _ server: TestServer,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let sum = wanted.values.reduce(0, +)
        func isRight(_ totals: UnreadTotals) -> Bool {
            totals.unread == sum && totals.unread(muted: true) == muted && totals.unread(muted: false) == sum - muted
                && ConversationKind.allCases.allSatisfy { totals.unread(of: $0) == wanted[$0] ?? 0 }
        }
        let bob = Caller(user: "bob")
        _ = try await eventually { isRight(try server.engine.totals(by: bob)) }
        let expected = try server.engine.totals(by: bob)
        #expect(isRight(expected), "the server: \(expected)", sourceLocation: sourceLocation)
        for (index, device) in devices.enumerated() {
            _ = try await eventually { isRight(try await device.recents.totals()) }
            try await Task.sleep(for: .milliseconds(30))
            let view = try await device.recents.view(limit: 1_000)
            #expect(isRight(view.totals), "device \(index): \(view.totals)", sourceLocation: sourceLocation)
            #expect(view.conversations.map(\.unread).reduce(0, +) == sum, sourceLocation: sourceLocation)
            for isMuted in [true, false] {
                let list = try await device.recents.view(limit: 1_000, matching: .init(isMuted: isMuted))
                let unread = list.conversations.map(\.unread).reduce(0, +)
                #expect(unread == (isMuted ? muted : sum - muted), sourceLocation: sourceLocation)
            }
        }
    }

    @Test("Muted and unmuted counts add up to the total, and so do the kinds (Telegram-iOS#645)")
    func totalsAddUp() async throws {
        let scene = try await scene()
        try await scene.server.makeCommunity("city", channels: ["open"], members: ["alice", "bob"])
        let channel = ConversationID.community("city", channel: "open")
        for (place, count) in [(.direct("bob"), 2), (group, 3), (channel, 4)] as [(ConversationID, Int)] {
            try await scene.alice.sendMessages(1...count, in: place)
        }
        try await expectTotals([.direct: 2, .group: 3, .community: 4], on: scene.devices, scene.server)
        try await scene.laptop.conversation(group).setMuted(true)
        let all = try await scene.all()
        try await expectTotals([.direct: 2, .group: 3, .community: 4], muted: 3, on: all, scene.server)
        // Bob mutes the channel while he is offline, and then a message arrives there.
        scene.server.goOffline("bob")
        try await scene.phone.conversation(channel).setMuted(true)
        try await scene.laptop.conversation(group).setMuted(false)
        for place in [group, channel] { try await scene.alice.sendMessages(5...5, in: place) }
        scene.server.goOnline("bob")
        let more = try await scene.all()
        try await expectTotals([.direct: 2, .group: 4, .community: 5], muted: 5, on: more, scene.server)
        try await scene.phone.conversation(channel).setMuted(false)
        try await scene.laptop.conversation(.direct("alice")).setMuted(true)
        try await scene.phone.conversation(.direct("alice")).markRead()
        try await expectTotals([.group: 4, .community: 5], on: try await scene.all(), scene.server)
        await scene.server.close()
    }

    // MARK: Events

    @Test("The total in each event equals the total of the list at that time (openim-sdk-core#195)")
    func totalsOfEvents() async throws {
        let scene = try await scene()
        for name in ["two", "three"] as [Identifier] {
            try await scene.server.makeGroup(name, members: ["alice", "bob"])
        }
        let logs = scene.devices.map { _ in RecentsEventLog() }
        let watching = zip(scene.devices, logs).map { device, log in
            let events = device.recents.events
            return Task { for await event in events { await log.add(event) } }
        }
        var sent: [Message] = []
        let (alice, laptop, server) = (scene.alice, scene.laptop, scene.server)
        let two = ConversationID.group("two")
        func after(_ what: String, _ total: Int64, isFirst: Bool = false) async throws {
            for (device, log) in zip(scene.devices, logs) {
                _ = try await eventually {
                    let last = await log.total
                    return try await device.recents.totals().unread == total && last == total
                }
                try await Task.sleep(for: .milliseconds(30))
                let view = try await device.recents.view()
                #expect(view.totalUnread == total, "after \(what)")
                #expect(view.conversations.map(\.unread).reduce(0, +) == total, "after \(what)")
                #expect(await log.total == total, "after \(what)")
                let faults = await log.takeFaults()
                // A loop that starts during a write gets an event that it missed that write.
                #expect(faults == [] || isFirst && faults == ["1 were missed"], "after \(what)")
            }
        }
        sent = try await alice.sendMessages(1...3, in: group)
        try await after("messages", 3, isFirst: true)
        try await alice.conversation(group).recall(sent[1].id)
        try await after("a recall", 2)
        let others = try await alice.sendMessages(1...4, in: two)
        try await after("others", 6)
        try await laptop.conversation(group).markRead()
        try await after("a read", 4)
        try await laptop.conversation(two).markRead(upTo: others[1].id)
        try await after("a partial read", 2)
        _ = try await laptop.conversation(group).send(.text("own")).waitUntilSent()
        try await alice.sendMessages(5...5, in: group)
        try await after("an own message and one more", 3)
        try await laptop.conversation(two).setMuted(true)
        try await server.setMember("bob", of: two, false)
        try await after("the removal from a group", 1)
        try await alice.sendMessages(1...5, in: .group("three"))
        try await after("a new conversation", 6)
        try await server.delete(.group("three"))
        try await after("a deletion", 1)
        try await laptop.recents.remove(group, options: .init(marksRead: false))
        try await after("a removal", 0)
        try await alice.sendMessages(6...6, in: group)
        try await after("its return", 2)
        for task in watching { task.cancel() }
        await scene.server.close()
    }

    @Test("Each client receives one added event for a new conversation (openim-sdk-core)")
    func addedOnce() async throws {
        let scene = try await scene()
        let logs = scene.devices.map { _ in RecentsEventLog() }
        let watching = zip(scene.devices, logs).map { device, log in
            let events = device.recents.events
            return Task { for await event in events { await log.add(event) } }
        }
        try await scene.alice.sendMessages(1...1, in: group)
        try await expect(1, on: scene.devices, scene.server)
        for log in logs { #expect(try await eventually { await log.descriptions == ["added group:swift 1"] }) }
        // Several messages arrive at once after the client was offline.
        scene.server.goOffline("bob")
        try await scene.alice.sendMessages(1...3, in: .direct("bob"))
        scene.server.goOnline("bob")
        try await expect(3, in: .direct("alice"), on: scene.devices, scene.server)
        for log in logs {
            #expect(try await eventually { await log.total == 4 })
            let received = await log.descriptions.filter { $0.contains("direct:alice") }
            #expect(received.first?.hasPrefix("added ") == true)
            #expect(received.count { $0.hasPrefix("added ") } == 1)
        }
        for task in watching { task.cancel() }
        await scene.server.close()
    }

    // MARK: Removed entries

    @Test(
        "A removed entry leaves all badges and returns with its remaining count (openim-sdk-core#624, WuKongIM#381)"
    )
    func removals() async throws {
        let scene = try await scene()
        try await scene.alice.sendMessages(1...2, in: .direct("bob"))
        try await scene.alice.sendMessages(1...3, in: group, mentioning: .users(["bob"]))
        try await expectTotals([.direct: 2, .group: 3], on: try await scene.all(), scene.server)
        for (marksRead, back) in [(false, 4), (true, 1)] as [(Bool, Int64)] {
            try await scene.phone.recents.remove(group, options: .init(marksRead: marksRead))
            // The client that removed the entry shows the change at once.
            #expect(try await scene.phone.recents.totals().unread == 2)
            let devices = try await scene.all()
            try await expectTotals([.direct: 2], on: devices, scene.server)
            for device in devices {
                #expect(try await device.recents[group] == nil)
                #expect(try await device.recents.totals().mentions == 0)
            }
            #expect(try scene.server.engine.totals(by: Caller(user: "bob")).mentions == 0)
            try await scene.alice.sendMessages(4...4, in: group)
            try await expectTotals([.direct: 2, .group: back], on: try await scene.all(), scene.server)
            try await expect(back, mentions: marksRead ? 0 : 3, on: devices, scene.server)
        }
        await scene.server.close()
    }
}

/// Records the events of a client and checks that they are consistent.
private actor RecentsEventLog {
    private(set) var total: Int64 = 0
    private(set) var descriptions: [String] = []
    private var faults: [String] = []
    private var last: [ConversationID: RecentConversation] = [:]

    func takeFaults() -> [String] {
        defer { faults = [] }
        return faults
    }

    func add(_ event: RecentsEvent) {
        switch event {
        case .added(let entry, let total):
            if last[entry.id] != nil { faults.append("\(entry.id) was added twice") }
            note(entry, "added", total)
        case .updated(let entry, let total):
            if last[entry.id] == nil { faults.append("\(entry.id) was updated, and is in no list") }
            if last[entry.id] == entry { faults.append("\(entry.id) was updated, and is as it was") }
            note(entry, "updated", total)
        case .removed(let id, let total):
            if last.removeValue(forKey: id) == nil { faults.append("\(id) was removed, and is in no list") }
            descriptions.append("removed \(id)")
            self.total = total
        case .read(_, let total): self.total = total
        case .unreadByKind(let counts):
            let sum = counts.values.reduce(0, +)
            if sum != total { faults.append("\(sum) by kind, and \(total) in all") }
        case .loadedAll: break
        case .missed(let count): faults.append("\(count) were missed")
        }
    }

    private func note(_ entry: RecentConversation, _ word: String, _ total: Int64) {
        last[entry.id] = entry
        descriptions.append("\(word) \(entry.id) \(entry.unread)")
        self.total = total
    }
}
