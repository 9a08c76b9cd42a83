import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import TestSupport
import Testing

extension UnreadCountIssueTests {
    // MARK: Read messages stay read

    @Test("Cleared messages do not become unread again on any client or after a restart (WuKongIM#381)")
    func cleared() async throws {
        let folder = try TemporaryFolder()
        let scene = try await scene()
        let before = try await scene.server.client("bob", store: .directory(folder.url))
        let sent = try await scene.alice.sendMessages(1...5, in: group)
        try await expect(5, on: scene.devices + [before], scene.server)
        try await see(sent, on: [before])
        _ = try await before.conversation(group).clear(through: sent[3].id)
        try await expect(1, on: scene.devices + [before], scene.server)
        await before.close()
        let after = try await scene.server.client("bob", store: .directory(folder.url))
        try await expect(1, on: scene.devices + [after, scene.server.client("bob")], scene.server)
        await scene.server.close()
    }

    @Test("Messages read offline are read after a restart, and on all clients once online (WuKongIM#360)")
    func readBeforeRestart() async throws {
        let folder = try TemporaryFolder()
        let scene = try await scene()
        let before = try await scene.server.client("bob", store: .directory(folder.url))
        try await scene.alice.sendMessages(1...4, in: group)
        try await expect(4, on: scene.devices + [before], scene.server)
        scene.server.goOffline("bob")
        try await before.conversation(group).markRead()
        await before.close()
        let after = try await scene.server.client("bob", store: .directory(folder.url))
        #expect(try await after.conversation(group).recent()?.unread == 0)
        #expect(try await after.recents.view().totalUnread == 0)
        try await scene.alice.sendMessages(5...6, in: group)
        scene.server.goOnline("bob")
        try await expect(2, on: scene.devices + [after], scene.server)
        await scene.server.close()
    }

    @Test("Concurrent reads on two clients never raise the unread count (WuKongIM#494)")
    func concurrentReadsNeverRaiseTheCount() async throws {
        let scene = try await scene()
        let sent = try await scene.alice.sendMessages(1...40, in: group)
        try await expect(40, on: scene.devices, scene.server)
        try await see(sent, on: scene.devices)
        let lowest = Lowest(scene.phone, group)
        for (place, message) in sent.enumerated() {
            try await (place.isMultiple(of: 2) ? scene.phone : scene.laptop).conversation(group).markRead(
                upTo: message.id)
            try await lowest.note()
        }
        try await expect(0, on: scene.devices, scene.server)
        try await lowest.note()
        #expect(await lowest.rises == 0)
        await scene.server.close()
    }

    @Test("Concurrent reads on one client are all applied (stream-chat-swift)")
    func concurrentReadsAreAllApplied() async throws {
        let scene = try await scene()
        let sent = try await scene.alice.sendMessages(1...20, in: group)
        try await expect(20, on: scene.devices, scene.server)
        try await see(sent, on: scene.devices)
        let chat = scene.phone.conversation(group)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for message in sent.dropLast(2).shuffled() {
                tasks.addTask { try await chat.markRead(upTo: message.id) }
            }
            try await tasks.waitForAll()
        }
        try await expect(2, on: scene.devices, scene.server)
        await scene.server.close()
    }

    @Test("A partial read on one client leaves the same messages unread on the others (openim-sdk-core)")
    func partlyRead() async throws {
        let scene = try await scene()
        let sent = try await scene.alice.sendMessages(1...10, in: group)
        try await expect(10, on: scene.devices, scene.server)
        try await see(sent, on: scene.devices)
        try await scene.laptop.conversation(group).markRead(upTo: sent[2].id)
        try await expect(7, on: scene.devices + [scene.server.client("bob")], scene.server)
        await scene.server.close()
    }

    @Test(
        "Unread messages can be marked as read when the newest ones are deleted or hidden (openim-sdk-core#556, #624)")
    func deletedNewestMessagesCanBeRead() async throws {
        let scene = try await scene()
        let sent = try await scene.alice.sendMessages(1...8, in: group)
        try await expect(8, on: scene.devices, scene.server)
        try await see(sent, on: scene.devices)
        try await scene.server.deleteRange(from: sent[5], to: sent[7], of: group)
        try await scene.alice.conversation(group).recall(sent[7].id)
        _ = try await scene.laptop.conversation(group).delete(sent[4].id, for: .me)
        try await expect(4, on: scene.devices, scene.server)
        try await scene.phone.conversation(group).markRead()
        try await expect(0, on: scene.devices + [scene.server.client("bob")], scene.server)
        await scene.server.close()
    }

    @Test("A read by one user does not change the counts of other users (open-im-server#3068)")
    func readAffectsOnlyItsUser() async throws {
        let scene = try await scene()
        for number in 1...3 {
            for place in [group, .direct("alice")] {
                _ = try await scene.phone.conversation(place).send(.text("\(number)")).waitUntilSent()
            }
        }
        for place in [group, .direct("bob")] {
            try await scene.alice.sendMessages(4...5, in: place)
            try await expect(3, of: "alice", in: place, on: [scene.alice], scene.server)
        }
        for place in [group, .direct("alice")] {
            try await expect(2, in: place, on: scene.devices, scene.server)
            try await scene.laptop.conversation(place).markRead()
            try await expect(0, in: place, on: scene.devices, scene.server)
        }
        for place in [group, .direct("bob")] {
            try await expect(3, of: "alice", in: place, on: [scene.alice], scene.server)
        }
        await scene.server.close()
    }

    @Test("Marking a thousand messages as read takes one request (zulip#10492, #21666)")
    func bulk() async throws {
        let scene = try await scene()
        try await scene.server.put(Array(repeating: "alice", count: 1000), into: group)
        try await expect(1000, on: scene.devices, scene.server)
        let before = scene.server.requests(of: "bob")["read"] ?? 0
        try await scene.phone.conversation(group).markRead()
        try await expect(0, on: scene.devices, scene.server)
        #expect(scene.server.requests(of: "bob")["read"] ?? 0 == before + 1)
        await scene.server.close()
    }

    @Test("A recall in a channel without a subscription lowers its count (tinode#898)")
    func deletedInQuietChannel() async throws {
        let scene = try await scene()
        try await scene.server.makeCommunity("city", channels: ["open"], members: ["alice", "bob"])
        let channel = ConversationID.community("city", channel: "open")
        let sent = try await scene.alice.sendMessages(1...5, in: channel, mentioning: .users(["bob"]))
        try await expect(5, mentions: 5, in: channel, on: scene.devices, scene.server)
        try await scene.alice.conversation(channel).recall(sent[2].id)
        try await expect(4, mentions: 4, in: channel, on: scene.devices, scene.server)
        try await scene.server.deleteRange(from: sent[0], to: sent[2], of: channel)
        try await expect(2, mentions: 2, in: channel, on: scene.devices, scene.server)
        await scene.server.close()
    }

    @Test("Marking as unread lasts on every client until the user reads the conversation (WuKongIM#494, Signal)")
    func markedUnread() async throws {
        let folder = try TemporaryFolder()
        let scene = try await scene()
        let kept = try await scene.server.client("bob", store: .directory(folder.url))
        let sent = try await scene.alice.sendMessages(1...3, in: group)
        try await expect(3, on: scene.devices + [kept], scene.server)
        try await see(sent, on: scene.devices)
        try await scene.phone.conversation(group).markRead()
        try await scene.alice.sendMessages(4...4, in: group)
        try await expect(1, on: scene.devices + [kept], scene.server)
        await kept.close()
        try await scene.phone.conversation(group).markUnread()
        try await expectMarked(true, on: scene.devices)
        // The count does not change, and read messages stay read.
        try await expect(1, on: scene.devices, scene.server)
        #expect(try scene.server.engine.head(of: group, by: Caller(user: "bob")).readSeq == 3)
        // Marking an already read message as read again does not clear the flag.
        try await scene.laptop.conversation(group).markRead(upTo: sent[0].id)
        // A read by a client that did not know the flag does not clear it either.
        let away = try await scene.server.disconnectedClient("bob", store: .directory(folder.url))
        try await away.conversation(group).markRead()
        away.connect()
        try await expect(0, on: scene.devices + [away], scene.server)
        let fresh = try await scene.server.client("bob")
        try await expectMarked(true, on: scene.devices + [away, fresh])
        // A read by a client that knows the flag clears it, also after a restart.
        try await scene.laptop.conversation(group).markRead()
        try await expectMarked(false, on: scene.devices + [away, fresh])
        await away.close()
        let again = try await scene.server.client("bob", store: .directory(folder.url))
        try await expectMarked(false, on: scene.devices + [again, scene.server.client("bob")])
        try await expect(0, on: scene.devices + [again, fresh], scene.server)
        await scene.server.close()
    }

    private func expectMarked(
        _ isMarked: Bool, on devices: [ChatClient], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        for (index, device) in devices.enumerated() {
            _ = try await eventually { try await device.recents[group]?.isMarkedUnread == isMarked }
            try await Task.sleep(for: .milliseconds(30))
            let shown = try await device.recents[group]?.isMarkedUnread
            #expect(shown == isMarked, "device \(index)", sourceLocation: sourceLocation)
        }
    }

    @Test("Marking 300 conversations as read takes one request and leaves later messages unread (zulip#21666)")
    func bulkReadOfManyConversations() async throws {
        let scene = try await scene()
        let names = (1...300).map { Identifier(known: "g\($0)") }
        let ids = names.map { ConversationID.group($0) }
        for name in names {
            try await scene.server.makeGroup(name, members: ["alice", "bob"])
            try await scene.server.put(["alice", "alice", "alice"], into: .group(name))
        }
        for device in scene.devices {
            #expect(try await eventually { try await device.recents.totals().unread == 900 })
            #expect(try await eventually { try await device.recents.view(limit: 400).conversations.count == 300 })
        }
        let before = scene.server.requests(of: "bob")
        scene.server.goOffline("bob")
        #expect(try await scene.phone.recents.markRead(ids + [.group("nowhere")]) == [.group("nowhere")])
        #expect(try await scene.phone.recents.totals().unread == 0)
        try await scene.alice.sendMessages(4...4, in: ids[7])
        scene.server.goOnline("bob")
        let fresh = try await scene.server.client("bob")
        for device in scene.devices + [fresh] {
            #expect(try await eventually { try await device.recents.totals().unread == 1 })
            let left = try await device.recents.view(limit: 400, matching: .init(isUnread: true)).conversations
            #expect(left.map(\.id) == [ids[7]] && left.map(\.unread) == [1])
        }
        #expect(try scene.server.engine.totals(by: Caller(user: "bob")).unread == 1)
        let after = scene.server.requests(of: "bob")
        #expect((after["readMany"] ?? 0) - (before["readMany"] ?? 0) == 1)
        #expect(after["read"] == before["read"])
        await scene.server.close()
    }

    @Test("Marking all conversations of a kind as read affects only that kind, on every client (zulip#10492)")
    func bulkKind() async throws {
        let scene = try await scene()
        try await scene.server.makeCommunity("city", channels: ["open"], members: ["alice", "bob"])
        let channel = ConversationID.community("city", channel: "open")
        for (place, count) in [(.direct("bob"), 2), (group, 3), (channel, 4)] as [(ConversationID, Int)] {
            try await scene.alice.sendMessages(1...count, in: place, mentioning: .users(["bob"]))
        }
        var wanted: [ConversationKind: Int64] = [.direct: 2, .group: 3, .community: 4]
        try await expectTotals(wanted, on: scene.devices, scene.server)
        for kind in [.community, .direct, .group] as [ConversationKind] {
            try await scene.phone.recents.markAllRead(of: kind)
            wanted[kind] = nil
            try await expectTotals(wanted, on: scene.devices + [scene.server.client("bob")], scene.server)
        }
        await scene.server.close()
    }

    @Test("A read up to a message that other clients lack gives exact counts there (matrix-rust-sdk)")
    func readOfUnloadedMessagesIsExact() async throws {
        let scene = try await scene()
        try await scene.server.put(Array(repeating: "alice", count: 900), into: group)
        let fresh = try await scene.server.client("bob")
        try await expect(900, on: scene.devices + [fresh], scene.server)
        let page = try await scene.phone.conversation(group).history(.earliest, limit: 50, sort: .oldestFirst)
        let last = try #require(page.messages.last)
        #expect(last.seq == 50)
        try await scene.phone.conversation(group).markRead(upTo: last.id)
        try await expect(850, on: scene.devices + [fresh], scene.server)
        // The message of the read marker need not exist either.
        try await scene.server.deleteRange(from: page.messages[10], to: last, of: group)
        try await expect(850, on: scene.devices + [fresh, scene.server.client("bob")], scene.server)
        await scene.server.close()
    }
}

/// Counts how often an unread count increases that may only decrease.
private actor Lowest {
    private let device: ChatClient
    private let id: ConversationID
    private var lowest = Int64.max
    private(set) var rises = 0

    init(_ device: ChatClient, _ id: ConversationID) {
        self.device = device
        self.id = id
    }

    func note() async throws {
        let unread = try await device.conversation(id).recent()?.unread ?? 0
        if unread > lowest { rises += 1 }
        lowest = min(lowest, unread)
    }
}
