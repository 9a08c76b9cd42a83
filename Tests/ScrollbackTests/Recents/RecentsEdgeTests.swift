import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import ScrollbackWire
import Synchronization
import TestSupport
import Testing

/// Tests the recents list at its limits: empty, long, with removed conversations, and with concurrent changes.
@Suite("Recents edge cases", .timeLimit(.minutes(10)))
struct RecentsEdgeTests {
    private let group = ConversationID.group("swift")
    private let bob = Caller(user: "bob")

    /// Whether the server acknowledged all reads and settings of a client.
    private func hasSentAllChanges(_ device: ChatClient) async throws -> Bool {
        try await device.core.store.read { try $0.pendingReads().isEmpty && $0.pendingSettings().isEmpty }
    }

    // MARK: Empty and full

    @Test("Operations on an empty recents list change nothing and send no events")
    func empty() async throws {
        let scene = try await scene()
        let recents = scene.phone.recents
        var events = recents.events.makeAsyncIterator()
        guard case .loadedAll? = await events.next() else {
            Issue.record("The client sent another event than expected.")
            return
        }
        #expect(try await recents.markRead([]) == [])
        #expect(try await recents.markRead([.group("nowhere")]) == [.group("nowhere")])
        try await recents.markAllRead()
        try await recents.markAllRead(of: .direct)
        #expect(try await recents.remove([]) == 0)
        #expect(try await recents.remove([group, .group("nowhere")]) == 0)
        try await recents.excludeFromNewDevices([])
        let view = try await recents.view()
        #expect(view.conversations.isEmpty && view.totals == UnreadTotals())
        #expect(try await recents.totals().unread == 0)
        // The next event is the one for the first message.
        try await scene.alice.sendMessages(1...1, in: group)
        guard case .added(let entry, 1)? = await events.next() else {
            Issue.record("The client sent another event than expected.")
            return
        }
        #expect(entry.id == group && entry.unread == 1)
        await scene.server.close()
    }

    @Test("An unread flag that another client clears before its answer arrives is cleared on both clients")
    func flagClearedBeforeItsAnswer() async throws {
        let scene = try await scene()
        try await scene.alice.sendMessages(1...3, in: group)
        try await until("there", scene.devices) { try await $0.recents[group]?.unread == 3 }
        try await scene.laptop.conversation(group).markRead()
        try await until("read", scene.devices) { try await $0.recents[group]?.unread == 0 }
        scene.server.setDelayed(true, "bob")
        // Each round runs the race between the two once.
        for round in 1...20 {
            try await scene.phone.conversation(group).markUnread()
            try await until("marked \(round)", [scene.laptop]) { try await $0.recents[group]?.isMarkedUnread == true }
            try await scene.laptop.conversation(group).markRead()
            try await until("ended \(round)", scene.devices) { try await $0.recents[group]?.isMarkedUnread == false }
            #expect(try await eventually { try await hasSentAllChanges(scene.phone) })
            try await until("ended still \(round)", scene.devices) {
                try await $0.recents[group]?.isMarkedUnread == false
            }
        }
        await scene.server.close()
    }

    @Test("A conversation marked as unread stays listed without visible messages until the flag is cleared")
    func markedConversationStaysWithoutMessages() async throws {
        let scene = try await scene()
        let late = ConversationID.group("late")
        try await scene.server.makeGroup("late", members: ["alice"])
        try await scene.alice.sendMessages(1...1, in: late)
        try await scene.server.setMember("bob", of: late, true)
        #expect(try await eventually { try await scene.phone.core.store.read { try $0.log(of: late) != nil } })
        try await scene.phone.conversation(late).markUnread()
        try await until("marked", scene.devices) { try await $0.recents[late]?.isMarkedUnread == true }
        try await scene.laptop.recents.markAllRead()
        try await until("gone", scene.all()) { try await $0.recents.view().conversations.isEmpty }
        await scene.server.close()
    }

    @Test("After the newest message of a channel is deleted, the previous one shows, even if it was not loaded")
    func previousMessageShowsAfterDeletion() async throws {
        let scene = try await scene()
        let channel = ConversationID.community("city", channel: "open")
        try await scene.server.makeCommunity("city", channels: ["open"], members: ["alice", "bob"])
        try await scene.alice.sendMessages(1...1, in: channel)
        try await until("one", scene.devices) { try await $0.recents[channel]?.lastMessage?.text == "1" }
        scene.server.goOffline("bob")
        let last = try await scene.alice.sendMessages(2...3, in: channel)[1]
        scene.server.goOnline("bob")
        try await until("three", scene.devices) { try await $0.recents[channel]?.lastMessage?.text == "3" }
        // With unread messages, the client would request the counts anyway.
        try await scene.phone.conversation(channel).markRead()
        try await until("read", scene.devices) { try await $0.recents[channel]?.unread == 0 }
        try await scene.phone.conversation(channel).delete(last.id, for: .me).waitForCompletion()
        try await until("two", scene.all()) { try await $0.recents[channel]?.lastMessage?.text == "2" }
        await scene.server.close()
    }

    @Test(
        "Deleted newest messages of a channel show on no client, connected or offline",
        arguments: [true, false])
    func deletedNewestMessagesAreNotShown(isAway: Bool) async throws {
        let scene = try await scene()
        let channel = ConversationID.community("city", channel: "open")
        try await scene.server.makeCommunity("city", channels: ["open"], members: ["alice", "bob"])
        try await scene.alice.sendMessages(1...4, in: channel)
        try await until("four", scene.devices) { try await $0.recents[channel]?.lastMessage?.text == "4" }
        if isAway { scene.server.goOffline("bob") }
        _ = try await scene.server.perform {
            $0.delete(
                DeleteRange(from: .seq(3), to: .seq(5)), of: channel, operation: MessageID(high: 0x7000, low: 1),
                by: Caller(user: "root", isAdmin: true), completion: $1)
        }
        if isAway { scene.server.goOnline("bob") }
        try await until("two", try await scene.all()) { try await $0.recents[channel]?.lastMessage?.text == "2" }
        await scene.server.close()
    }

    @Test("A message hidden before its channel head event arrives shows on no client")
    func messageHiddenBeforeHeadEvent() async throws {
        let scene = try await scene()
        let channel = ConversationID.community("city", channel: "open")
        try await scene.server.makeCommunity("city", channels: ["open"], members: ["alice", "bob"])
        try await scene.alice.sendMessages(1...1, in: channel)
        try await until("one", scene.devices) { try await $0.recents[channel]?.lastMessage?.text == "1" }
        for round in 1...10 {
            let sent = try #require(try await scene.alice.sendMessages(2...2, in: channel).first)
            _ = try await scene.server.perform { $0.hide([sent.id], in: channel, by: bob, completion: $1) }
            try await until("hidden \(round)", scene.devices) { device in
                guard try await device.core.store.read({ try $0.newestPosition(of: channel)?.seq }) == sent.seq else {
                    return false
                }
                return try await device.recents[channel]?.lastMessage?.text == "1"
            }
        }
        // The pending head events do not bring the messages back.
        try await scene.alice.sendMessages(3...3, in: .direct("bob"))
        try await Task.sleep(for: .milliseconds(120))
        try await until("hidden still", scene.devices) { try await $0.recents[channel]?.lastMessage?.text == "1" }
        await scene.server.close()
    }

    @Test("A new client lists 101 pinned conversations in the order of the other clients")
    func manyPins() async throws {
        let scene = try await scene()
        var ids: [ConversationID] = []
        for number in 1...104 {
            let name = Identifier(known: "g\(number)")
            try await scene.server.makeGroup(name, members: ["alice", "bob"])
            try await scene.alice.sendMessages(1...1, in: .group(name))
            ids.insert(.group(name), at: 0)
        }
        try await until("all", [scene.phone]) { try await $0.recents.view(limit: 200).conversations.count == 104 }
        // Pins all but three conversations, in random order.
        let rest = [ids[0], ids[50], ids[103]]
        for id in ids.filter({ !rest.contains($0) }).shuffled() {
            try await scene.phone.conversation(id).setPinned(true)
        }
        let order = ids.filter { !rest.contains($0) } + rest
        try await until("pinned", [scene.laptop]) {
            try await $0.recents.view(limit: 200).conversations.count { $0.isPinned } == 101
        }
        let devices = try await scene.all()
        try await until("pinned first", devices) { device in
            let first = try await device.recents.view()
            let last = first.conversations.last
            let more = try await device.recents.view(after: last)
            return (first.conversations + more.conversations).map(\.id) == order && first.totalUnread == 104
        }
        let page = try scene.server.engine.recents(limit: 100, by: bob)
        let next = try scene.server.engine.recents(limit: 100, cursor: page.next, by: bob)
        #expect((page.heads + next.heads).map(\.conversation) == order)
        await scene.server.close()
    }

    @Test("Paging returns each unmoved entry once and in order while other entries move up")
    func pagingWhileMoving() async throws {
        let scene = try await scene()
        var ids: [ConversationID] = []
        for number in 1...60 {
            let name = Identifier(known: "g\(number)")
            try await scene.server.makeGroup(name, members: ["alice", "bob"])
            try await scene.alice.sendMessages(1...1, in: .group(name))
            ids.insert(.group(name), at: 0)
        }
        try await until("all", [scene.phone]) { try await $0.recents.view(limit: 100).conversations.count == 60 }
        var found: [ConversationID] = []
        var moved: Set<ConversationID> = []
        var last: RecentConversation?
        while case let page = try await scene.phone.recents.view(limit: 7, after: last).conversations, !page.isEmpty {
            found += page.map(\.id)
            last = page.last
            // Moves the last entry of the page, and one that is still to come.
            for id in [page[page.count - 1].id, ids[59 - moved.count]] where moved.insert(id).inserted {
                try await scene.alice.sendMessages(2...2, in: id)
                try await until("moved", [scene.phone]) {
                    try await $0.recents.view(limit: 1).conversations[0].id == id
                }
            }
        }
        #expect(found.filter { !moved.contains($0) } == ids.filter { !moved.contains($0) })
        #expect(Set(found).count == found.count)
        await scene.server.close()
    }

    @Test("A conversation with an Arabic and emoji name supports all recents operations")
    func unicodeNameSupportsAllOperations() async throws {
        let scene = try await scene()
        let name = Identifier("مجموعة العائلة 👨‍👩‍👧‍👦🎉")
        let id = ConversationID.group(name)
        try await scene.server.makeGroup(name, members: ["alice", "bob"])
        try await scene.alice.sendMessages(1...3, in: id)
        try await until("there", scene.devices) { try await $0.recents[id]?.unread == 3 }
        try await scene.phone.conversation(id).setMuted(true)
        try await scene.phone.conversation(id).setPinned(true)
        #expect(try await scene.laptop.recents.markRead([id]) == [])
        try await until("read", try await scene.all()) { try await $0.recents[id]?.unread == 0 }
        try await scene.phone.conversation(id).markUnread()
        try await until("set", try await scene.all()) { device in
            let entry = try await device.recents[id]
            return entry?.isMuted == true && entry?.isPinned == true && entry?.isMarkedUnread == true
                && entry?.name == name.text
        }
        #expect(try await scene.laptop.recents.remove(id))
        try await until("gone", try await scene.all()) { try await $0.recents[id] == nil }
        try await scene.alice.sendMessages(4...4, in: id)
        try await until("back", try await scene.all()) { try await $0.recents[id]?.unread == 1 }
        await scene.server.close()
    }

    // MARK: Conversations that disappear

    @Test("Reads of deleted, left, recreated or emptied conversations are applied or dropped without blocking others")
    func readsOfRemovedConversations() async throws {
        let scene = try await scene()
        let names: [Identifier] = ["deleted", "left", "anew", "emptied", "kept"]
        for name in names { try await scene.server.makeGroup(name, members: ["alice", "bob"]) }
        for name in names { try await scene.alice.sendMessages(1...3, in: .group(name)) }
        try await until("there", scene.devices) { try await $0.recents.totals().unread == 15 }
        scene.server.goOffline("bob")
        let emptied = try scene.server.messages(in: .group("emptied"))
        try await scene.server.delete(.group("deleted"))
        try await scene.server.setMember("bob", of: .group("left"), false)
        try await scene.server.delete(.group("anew"))
        try await scene.server.makeGroup("anew", members: ["alice", "bob"])
        try await scene.alice.sendMessages(1...2, in: .group("anew"))
        try await scene.server.deleteRange(from: emptied[0], to: emptied[2], of: .group("emptied"))
        // One client sends them in one request, and the other client one by one.
        try await scene.phone.recents.markRead(names.map { .group($0) })
        for name in names { try await scene.laptop.conversation(.group(name)).markRead() }
        #expect(try await scene.phone.recents.totals().unread == 0)
        scene.server.goOnline("bob")
        try await until("later messages are unread", try await scene.all()) { device in
            let list = try await device.recents.view().conversations
            return list.filter { $0.unread > 0 }.map { "\($0.id) \($0.unread)" } == ["group:anew 2"]
                && !list.contains { $0.id == .group("deleted") }
        }
        #expect(try scene.server.engine.totals(by: bob).unread == 2)
        // No request is pending.
        for device in scene.devices {
            #expect(try await eventually { try await hasSentAllChanges(device) })
        }
        await scene.server.close()
    }

    @Test("A removed member can remove the group from the list of all their clients for good")
    func removedAfterLeaving() async throws {
        let scene = try await scene()
        try await scene.alice.sendMessages(1...2, in: group)
        try await until("there", scene.devices) { try await $0.recents[group]?.unread == 2 }
        try await scene.server.setMember("bob", of: group, false)
        try await until("left", scene.devices) { try await $0.recents[group]?.unread == 0 }
        #expect(try await scene.phone.recents.remove(group))
        try await until("gone", [scene.phone, scene.laptop]) { try await $0.recents[group] == nil }
        // The client receives the conversation's head again.
        scene.server.goOffline("bob")
        scene.server.goOnline("bob")
        try await scene.alice.sendMessages(1...1, in: .direct("bob"))
        try await until("still gone", try await scene.all()) {
            try await $0.recents.view().conversations.map(\.id) == [.direct("alice")]
        }
        await scene.server.close()
    }

    @Test("A first message lists its conversation, even if the user added and removed the entry before")
    func firstMessageListsRemovedEntry() async throws {
        let scene = try await scene()
        scene.server.goOffline("bob")
        try await scene.phone.recents.add(.direct("alice"))
        #expect(try await scene.phone.recents.remove(.direct("alice")))
        #expect(try await scene.phone.recents[.direct("alice")] == nil)
        try await scene.alice.sendMessages(1...2, in: .direct("bob"))
        scene.server.goOnline("bob")
        try await until("there", try await scene.all()) { try await $0.recents[.direct("alice")]?.unread == 2 }
        await scene.server.close()
    }

    // MARK: Concurrent changes

    @Test("Marking as unread, reading and marking again within a round trip leaves all clients marked")
    func markedAgain() async throws {
        let scene = try await scene()
        try await scene.alice.sendMessages(1...3, in: group)
        try await until("there", scene.devices) { try await $0.recents[group]?.unread == 3 }
        for round in 1...10 {
            // The server has set the first flag, and its answer is still in flight.
            scene.server.setDelayed(true, "bob")
            try await scene.phone.conversation(group).markUnread()
            _ = try await eventually { try scene.server.engine.head(of: group, by: bob).isMarkedUnread }
            try await scene.phone.conversation(group).markRead()
            try await scene.phone.conversation(group).markUnread()
            scene.server.setDelayed(false, "bob")
            #expect(try await eventually { try await hasSentAllChanges(scene.phone) })
            try await until("marked \(round)", try await scene.all()) {
                try await $0.recents[group]?.isMarkedUnread == true
            }
            try await scene.laptop.conversation(group).markRead()
            try await until("read \(round)", scene.devices) {
                try await $0.recents[group]?.isMarkedUnread == false
            }
        }
        await scene.server.close()
    }

    @Test("Marking all as read while messages arrive leaves every client with the server's counts")
    func markAllReadWhileMessagesArrive() async throws {
        let scene = try await scene()
        let places: [ConversationID] = [group, .direct("bob"), .group("two"), .group("three")]
        for name in ["two", "three"] as [Identifier] {
            try await scene.server.makeGroup(name, members: ["alice", "bob"])
        }
        let sending = Task {
            for number in 1...300 { try await scene.alice.sendMessages(number...number, in: places[number % 4]) }
        }
        for _ in 0..<20 {
            try await scene.phone.recents.markAllRead()
            try await Task.sleep(for: .milliseconds(5))
            try await scene.laptop.recents.markAllRead(of: .group)
        }
        try await sending.value
        // Messages after the last read are unread. The read marker says which ones these are.
        let places300 = try await scene.all()
        var counts: [ConversationID: Int64] = [:]
        for place in [group, .direct("alice"), .group("two"), .group("three")] as [ConversationID] {
            try await until("\(place)", places300) { device in
                let serverState = try scene.server.engine.head(of: place, by: bob)
                return try await device.recents[place]?.unread == serverState.unread
                    && serverState.unread == 75 - serverState.readSeq
            }
            counts[place] = try scene.server.engine.head(of: place, by: bob).unread
        }
        #expect(try scene.server.engine.totals(by: bob).unread == counts.values.reduce(0, +))
        try await scene.phone.recents.markAllRead()
        try await until("all read", places300) { try await $0.recents.totals().unread == 0 }
        await scene.server.close()
    }

    @Test("Removing an entry while a message arrives leads to the same list on all clients")
    func removalWhileMessageArrives() async throws {
        let scene = try await scene()
        try await scene.alice.sendMessages(1...1, in: group)
        try await until("there", scene.devices) { try await $0.recents[group] != nil }
        for round in 1...25 {
            let marksRead = round.isMultiple(of: 2)
            async let sent = scene.alice.sendMessages(1...1, in: group)
            if round.isMultiple(of: 3) { try await Task.sleep(for: .microseconds(Int.random(in: 0...900))) }
            try await scene.phone.recents.remove(group, options: .init(marksRead: marksRead))
            let last = try #require(try await sent.first)
            let devices = round.isMultiple(of: 5) ? try await scene.all() : scene.devices
            try await until("as the server has it, \(round)", devices) { device in
                let head = try scene.server.engine.head(of: group, by: bob)
                let isListed = head.head > head.removedSeq
                guard head.head == last.seq, let entry = try await device.recents[group] else { return !isListed }
                return isListed && entry.unread == head.unread && entry.lastMessage?.seq == last.seq
            }
        }
        await scene.server.close()
    }

    @Test("Reads and settings that a server with a full disk refuses are sent again automatically")
    func changesRefusedByFullDiskAreSentAgain() async throws {
        let store = FullDiskStore()
        let server = try TestServer(users: ["alice", "bob"], store: store)
        let names: [Identifier] = ["read", "many", "too", "muted", "out"]
        for name in names { try await server.makeGroup(name, members: ["alice", "bob"]) }
        let alice = try await server.client("alice")
        for name in names { try await alice.sendMessages(1...2, in: .group(name)) }
        let (phone, laptop) = (try await server.client("bob"), try await server.client("bob"))
        try await until("there", [phone, laptop]) { try await $0.recents.totals().unread == 10 }
        store.isFull = true
        try await phone.conversation(.group("read")).markRead()
        try await phone.recents.markRead([.group("many"), .group("too")])
        try await phone.conversation(.group("muted")).setMuted(true)
        try await phone.recents.remove(.group("out"))
        #expect(try await eventually { store.refused >= 3 })
        #expect(try await laptop.recents.totals().unread == 10)
        #expect(try await phone.recents.totals().unread == 2)
        store.isFull = false
        try await until("sent again", [phone, laptop]) { device in
            let view = try await device.recents.view()
            return view.totalUnread == 2 && view.totals.unread(muted: true) == 2
                && Set(view.conversations.map(\.id.target)) == ["read", "many", "too", "muted"]
        }
        await server.close()
    }

    // MARK: Restarts

    @Test("Changes made offline survive a restart and reach every client once online")
    func offlineChangesSurviveRestart() async throws {
        let folder = try TemporaryFolder()
        let scene = try await scene()
        let names: [Identifier] = ["muted", "pinned", "marked", "removed", "read"]
        for name in names {
            try await scene.server.makeGroup(name, members: ["alice", "bob"])
            try await scene.alice.sendMessages(1...2, in: .group(name))
        }
        let before = try await scene.server.client("bob", store: .directory(folder.url))
        try await until("there", scene.devices + [before]) { try await $0.recents.totals().unread == 10 }
        await before.close()
        let offline = try await scene.server.disconnectedClient("bob", store: .directory(folder.url))
        try await offline.conversation(.group("muted")).setMuted(true)
        try await offline.conversation(.group("pinned")).setPinned(true)
        try await offline.conversation(.group("marked")).markRead()
        try await offline.conversation(.group("marked")).markUnread()
        try await offline.recents.remove(.group("removed"), options: .init(marksRead: false))
        try await offline.recents.markRead([.group("read")])
        try await offline.recents.add(.direct("carol"), options: .init(movesToTop: false))
        let list = try await offline.recents.view()
        await offline.close()
        let after = try await scene.server.disconnectedClient("bob", store: .directory(folder.url))
        let shown = try await after.recents.view()
        #expect(shown == list)
        #expect(shown.totalUnread == 4)
        #expect(shown.conversations.map(\.id.target.text) == ["pinned", "read", "marked", "muted", "carol"])
        after.connect()
        try await until("everywhere", try await scene.all() + [after]) { device in
            let entries = try await device.recents.view().conversations.filter { $0.id != .direct("carol") }
            let words = entries.map { entry in
                [
                    entry.id.target.text, "\(entry.unread)", entry.isMuted ? "muted" : "",
                    entry.isPinned ? "pinned" : "", entry.isMarkedUnread ? "marked" : "",
                ].filter { !$0.isEmpty }.joined(separator: " ")
            }
            return words == ["pinned 2 pinned", "read 0", "marked 0 marked", "muted 2 muted"]
        }
        #expect(try await after.verifyIntegrity() == [])
        await scene.server.close()
    }

    // MARK: Events

    @Test("A partial read on another client sends one read event and one update")
    func partialReadElsewhereSendsOneEvent() async throws {
        let scene = try await scene()
        let sent = try await scene.alice.sendMessages(1...5, in: group)
        try await until("there", scene.devices) { try await $0.recents[group]?.unread == 5 }
        let page = try await scene.laptop.conversation(group).history(.latest, limit: 10)
        #expect(page.messages.count == 5)
        var events = scene.phone.recents.events.makeAsyncIterator()
        _ = await events.next()
        try await scene.laptop.conversation(group).markRead(upTo: sent[1].id)
        guard case .read(.one(group), 3)? = await events.next() else {
            Issue.record("The client sent another event than expected.")
            return
        }
        guard case .updated(let entry, 3)? = await events.next() else {
            Issue.record("The client sent another event than expected.")
            return
        }
        #expect(entry.unread == 3)
        try await scene.alice.sendMessages(6...6, in: group)
        guard case .updated(let next, 4)? = await events.next() else {
            Issue.record("The client sent another event than expected.")
            return
        }
        #expect(next.unread == 4)
        await scene.server.close()
    }
}

/// An in-memory store that can simulate a full disk.
private final class FullDiskStore: MessageStore {
    private let store = MemoryStore(generation: 7)
    private let state = Mutex((isFull: false, refused: 0))

    var isFull: Bool {
        get { state.withLock { $0.isFull } }
        set { state.withLock { $0.isFull = newValue } }
    }
    /// The number of refused write transactions.
    var refused: Int { state.withLock { $0.refused } }

    var generation: UInt64 { store.generation }
    var lastCommit: Int64 { get throws { store.lastCommit } }
    var newest: Timetoken { get throws { store.newest } }
    func vacuum() throws -> Bool { store.vacuum() }
    func read<Answer>(_ body: (any StoreReader) throws -> Answer) throws -> Answer { try store.read(body) }

    func write<Answer>(_ body: (any StoreWriter, _ commit: Int64) throws -> Answer) throws -> Answer {
        let isFull = state.withLock { state in
            if state.isFull { state.refused += 1 }
            return state.isFull
        }
        if isFull { throw ChatError(.storageFull, "The disk is full.") }
        return try store.write(body)
    }
}
