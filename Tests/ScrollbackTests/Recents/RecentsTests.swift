import ContractRows
import Dispatch
import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import Synchronization
import TestSupport
import Testing

/// Tests the list of recent conversations as an app uses it.
@Suite("Recents", .timeLimit(.minutes(10)))
struct RecentsTests {
    private let group = ConversationID.group("swift")

    // MARK: Contents

    @Test(
        "A message adds or moves up an entry for every conversation kind except rooms",
        .rows(174, 175, 176, 177, 178, 179, 180, 191, 227))
    func messagesMoveEntriesUp() async throws {
        let scene = try await scene()
        #expect(try await scene.phone.recents.view().conversations.isEmpty)
        #expect(try await scene.phone.recents[group] == nil)
        try await scene.server.makeCommunity("city", channels: ["open"], members: ["alice", "bob"])
        try await scene.server.makeRoom("lobby")
        let channel = ConversationID.community("city", channel: "open")
        let room = scene.phone.conversation(.room("lobby")).subscribe()
        for place in [group, .direct("bob"), channel, .room("lobby")] as [ConversationID] {
            try await scene.alice.sendMessages(1...1, in: place)
        }
        try await until("three entries", scene.devices) {
            try await $0.recents.view().conversations.map(\.id) == [channel, .direct("alice"), group]
        }
        try await scene.alice.sendMessages(1...1, in: group)
        try await until("moved up", scene.devices) {
            try await $0.recents.view().conversations.map(\.id) == [group, channel, .direct("alice")]
        }
        let entry = try #require(try await scene.phone.recents[group])
        #expect(entry.unread == 2 && entry.lastMessage?.seq == 2 && entry.localExtension == nil)
        // An own message moves the entry up too.
        try await scene.phone.sendMessages(1...1, in: .direct("alice"))
        try await until("own", scene.devices) {
            try await $0.recents.view().conversations.first?.id == .direct("alice")
        }
        // A conversation works without an entry.
        try await scene.phone.recents.remove(group)
        #expect(try await scene.phone.recents[group] == nil)
        #expect(try await scene.phone.conversation(group).history(.latest).messages.count == 2)
        _ = room
        await scene.server.close()
    }

    @Test(
        "The list is paged by any size, with pinned entries first, in the same order on all clients",
        .rows(182, 183, 192))
    func pages() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        let alice = try await server.client("alice")
        var names: [ConversationID] = []
        for number in 1...25 {
            let name = Identifier(known: "g\(number)")
            try await server.makeGroup(name, members: ["alice", "bob"])
            try await alice.sendMessages(1...1, in: .group(name))
            names.insert(.group(name), at: 0)
        }
        let phone = try await server.client("bob")
        try await until("all", [phone]) { try await $0.recents.view().conversations.map(\.id) == names }
        for pin in [names[24], names[3]] { try await phone.conversation(pin).setPinned(true) }
        let order = [names[3], names[24]] + names.filter { $0 != names[3] && $0 != names[24] }
        for limit in [1, 2, 7, 24, 25, 26] {
            var found: [RecentConversation] = []
            while case let page = try await phone.recents.view(limit: limit, after: found.last).conversations,
                !page.isEmpty
            {
                #expect(page.count <= limit)
                found += page
            }
            #expect(found.map(\.id) == order, "pages of \(limit)")
        }
        let laptop = try await server.client("bob")
        try await until("pins first on a new device", [phone, laptop]) {
            try await $0.recents.view().conversations.map(\.id) == order
        }
        await #expect(
            performing: { _ = try await phone.recents.view(limit: 0) },
            throws: { ($0 as? ChatError)?.parameter == "limit" })
        await server.close()
    }

    @Test(
        "Filters select entries by kind, mute and unread state, and the last message by its type",
        .rows(187, 188, 207))
    func filters() async throws {
        let scene = try await scene()
        try await scene.alice.sendMessages(1...2, in: group)
        try await scene.alice.sendMessages(1...1, in: .direct("bob"))
        _ = try await scene.alice.conversation(group).send(
            MessageContent(type: .notice, json: RawJSON(known: #"{"text":"n"}"#))
        ).waitUntilSent()
        _ = try await scene.alice.conversation(.direct("bob")).send(
            MessageContent(type: MessageType("app:x"), json: RawJSON(known: "{}"))
        ).waitUntilSent()
        try await until("all", [scene.phone]) { try await $0.recents.view().totalUnread == 4 }
        let recents = scene.phone.recents
        func ids(_ filter: RecentsFilter) async throws -> [ConversationID] {
            try await recents.view(matching: filter).conversations.map(\.id)
        }
        #expect(try await ids(.init(kinds: [.group])) == [group])
        #expect(try await ids(.init(kinds: [.direct, .group])) == [.direct("alice"), group])
        #expect(try await ids(.init(kinds: [])) == [])
        try await scene.phone.conversation(group).setMuted(true)
        #expect(try await ids(.init(isMuted: true)) == [group])
        #expect(try await ids(.init(isMuted: false)) == [.direct("alice")])
        #expect(try await recents.totals().unread(muted: true) == 2)
        #expect(try await recents.totals().unread(muted: false) == 2)
        try await scene.phone.conversation(.direct("alice")).markRead()
        #expect(try await ids(.init(isUnread: true)) == [group])
        try await scene.phone.conversation(.direct("alice")).markUnread()
        #expect(try await ids(.init(isUnread: true)) == [.direct("alice"), group])

        let plain = try await recents.view(matching: .init(excludedLastTypes: [.notice, MessageType("app:x")]))
        #expect(plain.conversations.map(\.id) == [.direct("alice"), group])
        #expect(plain.conversations.map { $0.lastMessage?.seq } == [1, 2])
        let none = try await recents.view(matching: .init(excludedLastTypes: [.notice, .text, MessageType("app:x")]))
        #expect(none.conversations.map(\.id) == [.direct("alice"), group])
        #expect(none.conversations.allSatisfy { $0.lastMessage == nil })
        await scene.server.close()
    }

    @Test(
        "A filtered entry is a value of its own: later changes don't alter it, and events have whole entries",
        .rows(189))
    func filteredEntryIsAValue() async throws {
        let scene = try await scene()
        let recents = scene.phone.recents
        let received = Mutex<[RecentConversation]>([])
        let events = recents.events
        let listener = Task {
            for await event in events {
                switch event {
                case .added(let entry, _), .updated(let entry, _): received.withLock { $0.append(entry) }
                default: break
                }
            }
        }
        func notice() async throws {
            let content = try MessageContent(type: .notice, json: RawJSON(known: #"{"text":"n"}"#))
            _ = try await scene.alice.conversation(group).send(content).waitUntilSent()
        }
        try await scene.alice.sendMessages(1...1, in: group)
        try await notice()
        try await until("both messages", [scene.phone]) { try await $0.recents[group]?.lastMessage?.seq == 2 }
        let filter = RecentsFilter(excludedLastTypes: [.notice])
        let filtered = try await recents.view(matching: filter)
        #expect(filtered.conversations.map { $0.lastMessage?.seq } == [1])
        var changed = filtered
        changed.conversations[0].unread = 99
        changed.conversations[0].lastMessage = nil
        #expect(try await recents.view(matching: filter) == filtered)
        try await notice()
        let isReported = try await eventually {
            received.withLock { $0.contains { $0.lastMessage?.seq == 3 && $0.lastMessage?.type == .notice } }
        }
        #expect(isReported, "An event has the last message of any type.")
        #expect(received.withLock { entries in entries.allSatisfy { $0.lastMessage != nil && $0.unread == 1 } })
        #expect(filtered.conversations.map { $0.lastMessage?.seq } == [1])
        #expect(try await recents[group]?.lastMessage?.seq == 3)
        #expect(try await recents.view(matching: filter).conversations.map { $0.lastMessage?.seq } == [1])
        await scene.server.close()
        await listener.value
    }

    /// Blocks the main thread until it may continue.
    @MainActor private static func blockMainThread(_ isBlocked: DispatchSemaphore, until released: DispatchSemaphore) {
        isBlocked.signal()
        released.wait()
    }

    @Test("The list and its counts are read while the main thread is busy, and each snapshot is consistent", .rows(181))
    func busyMainThread() async throws {
        let scene = try await scene()
        try await scene.alice.sendMessages(1...1, in: group)
        try await until("listed", [scene.phone]) { try await $0.recents[group]?.unread == 1 }
        let (isBlocked, released) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let blocker = Task { await Self.blockMainThread(isBlocked, until: released) }
        let began = Atomic<Bool>(false)
        DispatchQueue.global().async {
            isBlocked.wait()
            began.store(true, ordering: .releasing)
        }
        #expect(try await eventually { began.load(ordering: .acquiring) })
        let snapshots = Mutex<[Recents.View]>([])
        let reading = Task.detached { [group] in
            let recents = scene.phone.recents
            while !Task.isCancelled {
                _ = try await recents.totals()
                _ = try await recents[group]?.unread
                _ = try await recents.view(matching: RecentsFilter(kinds: [.group], excludedLastTypes: [.notice]))
                let view = try await recents.view()
                snapshots.withLock { $0.append(view) }
            }
        }
        try await scene.alice.sendMessages(2...100, in: group)
        try await scene.alice.sendMessages(1...50, in: .direct("bob"))
        let isRead = try await eventually { snapshots.withLock { $0.last?.totalUnread } == 150 }
        released.signal()
        #expect(isRead, "No read waits for the main thread.")
        reading.cancel()
        try? await reading.value
        await blocker.value
        for view in snapshots.withLock({ $0 }) {
            #expect(view.totalUnread == view.conversations.reduce(0) { $0 + $1.unread })
        }
        await scene.server.close()
    }

    @Test(
        "An entry added manually can show its last message and can keep its position or move to the top",
        .rows(193, 194, 195))
    func manuallyAddedEntry() async throws {
        let scene = try await scene()
        try await scene.alice.sendMessages(1...1, in: group)
        try await until("there", scene.devices) { try await $0.recents[group] != nil }
        let recents = scene.phone.recents
        let empty = try await recents.add(.direct("carol"))
        #expect(empty.lastMessage == nil && empty.unread == 0)
        #expect(try await recents.view().conversations.map(\.id) == [.direct("carol"), group])
        let last = try await recents.add(.direct("dave"), options: .init(movesToTop: false))
        #expect(last.lastMessage == nil)
        #expect(try await recents.view().conversations.map(\.id) == [.direct("carol"), group, .direct("dave")])
        // Adding an entry that is in the list changes nothing.
        let there = try await recents.add(group)
        #expect(there.lastMessage?.seq == 1)

        for (options, shown) in [
            (Recents.AddOptions(), Seq?.none), (.init(showsLastMessage: true), 1),
        ] {
            try await recents.remove(group)
            try await until("gone", scene.devices) { try await $0.recents[group] == nil }
            #expect(try await recents.add(group, options: options).lastMessage?.seq == shown)
            try await until("back", [scene.laptop]) { try await $0.recents[group]?.lastMessage?.seq == 1 }
        }
        try await recents.remove(group)
        try await recents.add(group)
        try await scene.alice.sendMessages(1...1, in: group)
        try await until("the next message shows", scene.devices) {
            try await $0.recents[group]?.lastMessage?.seq == 2
        }
        await #expect(
            performing: { _ = try await recents.add(.room("lobby")) },
            throws: { ($0 as? ChatError)?.parameter == "conversation" })
        await scene.server.close()
    }

    @Test(
        "A local extension stays on one client, is replaced as a whole, and sends an event only if requested",
        .rows(196, 197, 198))
    func localExtension() async throws {
        let scene = try await scene()
        try await scene.alice.sendMessages(1...1, in: group)
        try await until("there", scene.devices) { try await $0.recents[group] != nil }
        let recents = scene.phone.recents
        var events = recents.events.makeAsyncIterator()
        _ = await events.next()
        try await recents.setLocalExtension(RawJSON(#"{"mark": "@", "at": 1}"#), of: group, notifies: false)
        try await recents.setLocalExtension(RawJSON(#"{"mark": "👍🏽 مرحبا"}"#), of: group)
        #expect(try await recents[group]?.localExtension?.text == #"{"mark": "👍🏽 مرحبا"}"#)
        guard case .updated(let entry, _)? = await events.next() else {
            Issue.record("The client sent another event than expected.")
            return
        }
        #expect(entry.localExtension?.text == #"{"mark": "👍🏽 مرحبا"}"#)
        #expect(try await scene.laptop.recents[group]?.localExtension == nil)
        for wrong in [#"["a"]"#, "{\"a\": \"\(String(repeating: "x", count: 1100))\"}"] {
            await #expect(
                performing: { _ = try await recents.setLocalExtension(RawJSON(wrong), of: group) },
                throws: { ($0 as? ChatError)?.parameter == "localExtension" })
        }
        try await recents.setLocalExtension(nil, of: group)
        #expect(try await recents[group]?.localExtension == nil)
        await scene.server.close()
    }

    @Test("The list shows drafts")
    func drafts() async throws {
        let scene = try await scene()
        try await scene.alice.sendMessages(1...1, in: group)
        try await until("there", [scene.phone]) { try await $0.recents[group] != nil }
        var views = scene.phone.recents.views().makeAsyncIterator()
        #expect(await views.next()?.conversations.first?.draft == nil)
        try await scene.phone.conversation(group).setDraft(Draft("not yet"))
        #expect(await views.next()?.conversations.first?.draft?.text == "not yet")
        await scene.server.close()
    }

    // MARK: Reading

    @Test(
        "Messages of other users stay unread until the app marks one, several, or all conversations as read",
        .rows(204, 205, 206, 209, 210, 211, 212, 213, 214, 215))
    func reading() async throws {
        let scene = try await scene()
        try await scene.server.makeGroup("two", members: ["alice", "bob"])
        let places: [ConversationID] = [group, .group("two"), .direct("bob")]
        func fill() async throws {
            for (count, place) in zip(2..., places) { try await scene.alice.sendMessages(1...count, in: place) }
        }
        func totals(_ wanted: [ConversationKind: Int64]) async throws {
            try await until("totals \(wanted)", scene.devices) { device in
                let totals = try await device.recents.totals()
                return ConversationKind.allCases.allSatisfy { totals.unread(of: $0) == wanted[$0] ?? 0 }
                    && totals.unread == wanted.values.reduce(0, +)
            }
        }
        try await fill()
        try await totals([.group: 5, .direct: 4])
        #expect(try await scene.phone.recents[group]?.unread == 2)
        try await scene.phone.conversation(group).markRead()
        try await totals([.group: 3, .direct: 4])
        let unknown = try await scene.laptop.recents.markRead([.group("two"), .direct("alice"), .group("nowhere")])
        #expect(unknown == [.group("nowhere")])
        try await totals([:])
        try await fill()
        try await totals([.group: 5, .direct: 4])
        try await scene.phone.recents.markAllRead(of: .group)
        try await totals([.direct: 4])
        try await fill()
        try await totals([.group: 5, .direct: 8])
        try await scene.laptop.recents.markAllRead()
        try await fill()
        try await totals([.group: 5, .direct: 4])
        await scene.server.close()
    }

    @Test("Marking all conversations as read takes one request and reads each up to its last shown message")
    func markAllReadTakesOneRequest() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        let names = (1...120).map { Identifier(known: "g\($0)") }
        for name in names { try await server.makeGroup(name, members: ["alice", "bob"]) }
        let alice = try await server.client("alice")
        for name in names { try await alice.conversation(.group(name)).send(.text("hi")) }
        await alice.waitForOutbox()
        let phone = try await server.client("bob")
        try await until("all", [phone]) { try await $0.recents.view(limit: 200).conversations.count == 120 }
        let before = server.requests(of: "bob")
        try await phone.recents.markAllRead()
        try await until("received by the server", [phone]) { _ in
            try server.engine.totals(by: Caller(user: "bob")).unread == 0
        }
        let laptop = try await server.client("bob")
        try await until("read", [phone, laptop]) { try await $0.recents.totals().unread == 0 }
        let after = server.requests(of: "bob")
        #expect((after["readMany"] ?? 0) - (before["readMany"] ?? 0) == 1)
        #expect(after["read"] == before["read"])
        await server.close()
    }

    @Test(
        "Settings, flags and removals reach every client of a user, including offline and new ones",
        .rows(216))
    func settingsReachEveryClient() async throws {
        let scene = try await scene()
        try await scene.alice.sendMessages(1...2, in: group)
        try await scene.alice.sendMessages(1...1, in: .direct("bob"))
        try await until("there", scene.devices) { try await $0.recents.totals().unread == 3 }
        scene.server.goOffline("bob")
        try await scene.phone.conversation(group).setMuted(true)
        try await scene.phone.conversation(group).setPinned(true)
        try await scene.laptop.conversation(.direct("alice")).markRead()
        #expect(try await scene.phone.recents[group]?.isMuted == true)
        try await scene.alice.sendMessages(1...1, in: group)
        scene.server.goOnline("bob")
        try await until("muted, pinned, read", try await scene.all()) { device in
            let list = try await device.recents.view()
            return list.conversations.map(\.id) == [group, .direct("alice")] && list.conversations[0].isMuted
                && list.conversations[0].isPinned && list.conversations[0].unread == 3
                && list.conversations[1].unread == 0 && list.totals.unread(muted: true) == 3
        }
        try await scene.phone.conversation(.direct("alice")).markUnread()
        try await until("marked", try await scene.all()) { device in
            let entry = try await device.recents[.direct("alice")]
            return entry?.isMarkedUnread == true && entry?.unread == 0
        }
        try await scene.laptop.conversation(.direct("alice")).markRead()
        try await until("not marked", try await scene.all()) {
            try await $0.recents[.direct("alice")]?.isMarkedUnread == false
        }
        for isMuted in [false, true, false] { try await scene.laptop.conversation(group).setMuted(isMuted) }
        try await until("not muted", try await scene.all()) { try await $0.recents[group]?.isMuted == false }
        await scene.server.close()
    }

    @Test("A late read keeps an unread flag it did not know, and a read that knows the flag clears it")
    func lateReadKeepsUnknownFlag() async throws {
        let scene = try await scene()
        try await scene.alice.sendMessages(1...3, in: group)
        try await until("there", scene.devices) { try await $0.recents[group]?.unread == 3 }
        let bob = Caller(user: "bob")
        let epoch = try scene.server.engine.head(of: group, by: bob).state.epoch
        func change(_ change: StateChange) async throws -> ReadSummary {
            try await scene.server.perform { $0.change(group, change, by: bob, completion: $1) }
        }
        let seen = try await change(.read(seq: 1, epoch: epoch, userRev: 0)).userRev
        let marked = try await change(.markUnread)
        #expect(marked.isMarkedUnread && marked.readSeq == 1 && marked.userRev > seen)
        // The read reports a position and did not know the flag.
        let late = try await change(.read(seq: 2, epoch: epoch, userRev: seen))
        #expect(late.isMarkedUnread && late.readSeq == 2 && late.unread == 1)
        let muted = try await change(.settings(isMuted: true, isPinned: nil))
        #expect(muted.userRev > late.userRev)
        // Other settings that changed since are not a flag.
        #expect(try await change(.read(seq: 2, epoch: epoch, userRev: marked.userRev)).isMarkedUnread == false)
        await scene.server.close()
    }

    // MARK: Removing

    @Test(
        "A removed entry leaves the total, keeps its messages, and returns with the next message",
        .contract("check 11"),
        .rows(218, 220, 221))
    func removal() async throws {
        let scene = try await scene()
        for marksRead in [false, true] {
            let before = try await scene.phone.recents[group]?.unread ?? 0
            try await scene.alice.sendMessages(1...3, in: group)
            try await until("three", scene.devices) { try await $0.recents[group]?.unread == before + 3 }
            let isThere = try await scene.phone.recents.remove(group, options: .init(marksRead: marksRead))
            #expect(isThere)
            #expect(try await scene.phone.recents.totals().unread == 0)
            #expect(try await scene.phone.recents.remove(group) == false)
            try await until("gone", try await scene.all()) { device in
                let view = try await device.recents.view()
                return view.conversations.isEmpty && view.totalUnread == 0
            }
            #expect(try await scene.phone.conversation(group).history(.latest, from: .local).messages.count >= 3)
            try await scene.alice.sendMessages(1...1, in: group)
            try await until("back", try await scene.all()) {
                try await $0.recents[group]?.unread == (marksRead ? 1 : 4)
            }
        }
        await scene.server.close()
    }

    @Test("New devices download the messages of a removed entry, unless the removal excludes them", .rows(219))
    func removalExcludesFromNewDevices() async throws {
        let scene = try await scene()
        for (excludes, head, downloaded) in [(false, 3, Array(1...4)), (true, 7, [8])] as [(Bool, Seq, [Seq])] {
            try await scene.alice.sendMessages(1...3, in: group)
            try await until("there", [scene.phone]) { try await $0.recents[group]?.lastMessage?.seq == head }
            try await scene.phone.recents.remove(group, options: .init(excludesFromNewDevices: excludes))
            try await until("received by the server", [scene.phone]) { _ in
                try scene.server.engine.head(of: group, by: Caller(user: "bob")).removedSeq == head
            }
            try await scene.alice.sendMessages(1...1, in: group)
            let new = try await scene.server.client("bob")
            try await until("back", [new]) { try await $0.recents[group]?.unread == 1 }
            try await new.recents.prefetch()
            let local = try await new.conversation(group).history(.latest, sort: .oldestFirst, from: .local)
            #expect(local.messages.map(\.seq) == downloaded)
        }
        await scene.server.close()
    }

    @Test(
        "An entry excluded from new devices appears on a new client with its next message, and its history loads",
        .rows(222))
    func excludedEntryReturnsOnNewClient() async throws {
        let scene = try await scene()
        try await scene.alice.sendMessages(1...3, in: group)
        try await until("there", scene.devices) { try await $0.recents[group]?.unread == 3 }
        try await scene.phone.conversation(group).markRead()
        try await scene.phone.recents.excludeFromNewDevices([group])
        try await until("received by the server", [scene.phone]) { _ in
            try scene.server.engine.head(of: group, by: Caller(user: "bob")).recentTime == nil
        }
        try await until("still there", scene.devices) { try await $0.recents[group]?.lastMessage?.seq == 3 }
        let new = try await scene.server.client("bob")
        try await scene.alice.sendMessages(1...1, in: .direct("bob"))
        try await until("the other one", [new]) { try await $0.recents.view().conversations.count == 1 }
        #expect(try await new.conversation(group).history(.latest).messages.count == 3)
        try await scene.alice.sendMessages(1...1, in: group)
        try await until("back", [new]) { try await $0.recents[group]?.lastMessage?.seq == 4 }
        await scene.server.close()
    }

    // MARK: Events

    /// A readable form of an event.
    private func description(_ event: RecentsEvent) -> String {
        switch event {
        case .added(let entry, let total): "added \(entry.id) \(entry.unread) of \(total)"
        case .updated(let entry, let total): "updated \(entry.id) \(entry.unread) of \(total)"
        case .removed(let id, let total): "removed \(id) of \(total)"
        case .read(let scope, let total): "read \(scope) of \(total)"
        case .unreadByKind(let counts):
            "kinds \(counts.filter { $0.value > 0 }.map { "\($0.key) \($0.value)" }.sorted())"
        case .loadedAll: "loaded all"
        case .missed(let count): "missed \(count)"
        }
    }

    private actor Log {
        private(set) var lines: [String] = []
        func add(_ line: String) { lines.append(line) }
        func take() -> [String] {
            defer { lines = [] }
            return lines
        }
    }

    @Test(
        "Each recents event is sent once, at the right time, with the total after it", .contract("check 10"),
        .rows(184, 185, 186, 199, 200, 201, 202, 203))
    func events() async throws {
        let scene = try await scene()
        let log = Log()
        let events = scene.phone.recents.events
        let watching = Task { for await event in events { await log.add(description(event)) } }
        func expect(_ wanted: [String], sourceLocation: SourceLocation = #_sourceLocation) async throws {
            #expect(
                try await eventually { await log.lines.count >= wanted.count }, sourceLocation: sourceLocation)
            try await Task.sleep(for: .milliseconds(30))
            #expect(await log.take() == wanted, sourceLocation: sourceLocation)
        }
        try await expect(["loaded all"])
        let first = try await scene.alice.sendMessages(1...1, in: .direct("bob"))
        try await expect(["added direct:alice 1 of 1", "kinds [\"direct 1\"]"])
        try await scene.alice.sendMessages(1...1, in: .direct("bob"))
        try await expect(["updated direct:alice 2 of 2", "kinds [\"direct 2\"]"])
        try await scene.phone.conversation(.direct("alice")).markRead()
        try await expect(["read one(direct:alice) of 0", "updated direct:alice 0 of 0"])
        try await scene.phone.conversation(.direct("alice")).markRead()
        try await scene.alice.sendMessages(1...1, in: group)
        try await expect(["added group:swift 1 of 1", "kinds [\"group 1\"]"])
        try await scene.alice.sendMessages(1...1, in: .direct("bob"))
        try await expect(["updated direct:alice 1 of 2", "kinds [\"direct 1\", \"group 1\"]"])
        try await scene.alice.sendMessages(1...1, in: .direct("bob"))
        try await expect(["updated direct:alice 2 of 3", "kinds [\"direct 2\", \"group 1\"]"])
        try await scene.phone.recents.markAllRead(of: .direct)
        try await expect(["read kind(ScrollbackModel.ConversationKind.direct) of 1"])
        try await until("there", [scene.laptop]) { try await $0.recents[group]?.unread == 1 }
        try await scene.laptop.conversation(group).markRead()
        try await expect(["read one(group:swift) of 0", "updated group:swift 0 of 0"])
        // The last message changes. A change of another message does not affect the list.
        let last = try await scene.alice.sendMessages(1...1, in: group)[0]
        try await expect(["updated group:swift 1 of 1", "kinds [\"group 1\"]"])
        try await scene.alice.conversation(group).edit(last.id, to: .text("edited"))
        try await expect(["updated group:swift 1 of 1"])
        try await scene.alice.conversation(.direct("bob")).edit(first[0].id, to: .text("edited"))
        try await scene.alice.conversation(group).recall(last.id)
        try await expect(["updated group:swift 0 of 0", "kinds []"])
        try await scene.phone.recents.remove(group)
        try await expect(["removed group:swift of 0"])
        try await scene.alice.sendMessages(1...1, in: group)
        try await expect(["added group:swift 1 of 1", "kinds [\"group 1\"]"])
        try await scene.phone.recents.markRead([group, .direct("alice")])
        try await expect(["read many([group:swift, direct:alice]) of 0"])
        watching.cancel()
        await scene.server.close()
    }

    /// Records the events of a loop.
    private func follow(_ events: AsyncStream<RecentsEvent>) -> (log: Log, watching: Task<Void, Never>) {
        let log = Log()
        return (log, Task { for await event in events { await log.add(description(event)) } })
    }

    @Test(
        "A slow event loop receives the number of missed events and the loaded event"
    )
    func slowLoopReceivesMissedCount() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        try await server.client("alice").sendMessages(1...1, in: group)
        let phone = try await server.disconnectedClient("bob") { $0.eventBuffer = 1 }
        let events = phone.recents.events
        phone.connect()
        try await phone.ready()
        let (log, watching) = follow(events)
        #expect(try await eventually { await log.lines.count == 3 })
        #expect(await log.lines == ["added group:swift 1 of 1", "loaded all", "missed 1"])
        // The loop receives the next event, and ends when the client closes.
        try await server.client("alice").sendMessages(1...1, in: group)
        #expect(try await eventually { await log.lines.contains("updated group:swift 2 of 2") })
        await phone.close()
        await watching.value
        await server.close()
    }

    @Test("A conversation that reuses the row number of a deleted one is added, and the deleted one is removed")
    func reusedRowNumber() async throws {
        let scene = try await scene()
        try await scene.alice.sendMessages(1...1, in: group)
        try await until("there", [scene.phone]) { try await $0.recents[group] != nil }
        let (log, watching) = follow(scene.phone.recents.events)
        try await scene.phone.core.store.write { [group] writer in
            try writer.deleteConversation(group)
            _ = try writer.addRecent(.direct("carol"), at: nil, showsLast: true)
        }
        #expect(try await eventually { await log.lines.count == 4 })
        #expect(
            await log.lines == [
                "loaded all", "removed group:swift of 0", "added direct:carol 0 of 0", "kinds []",
            ])
        watching.cancel()
        await scene.server.close()
    }

    @Test("An event stream that starts during a write reports a possibly missed event")
    func streamStartedDuringWriteReportsMissedEvent() async throws {
        let scene = try await scene()
        let recents = scene.phone.recents
        let events = try await scene.phone.core.store.write { writer in
            _ = try writer.addRecent(.direct("carol"), at: nil, showsLast: true)
            return recents.events
        }
        let (log, watching) = follow(events)
        #expect(try await eventually { await log.lines.count == 2 })
        #expect(await log.lines == ["loaded all", "missed 1"])
        watching.cancel()
        await scene.server.close()
    }

    @Test(
        "A new client loads the list from the top, with complete totals from the first window"
    )
    func newDevice() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        let alice = try await server.client("alice")
        let names = (1...230).map { Identifier(known: "g\($0)") }
        for name in names { try await server.makeGroup(name, members: ["alice", "bob"]) }
        for name in names { try await alice.conversation(.group(name)).send(.text("hi")) }
        await alice.waitForOutbox()
        let device = try await server.disconnectedClient("bob")
        let log = Log()
        let (events, views) = (device.recents.events, device.recents.views())
        let watching = Task {
            for await event in events {
                if case .loadedAll = event {
                    await log.add("\(try await device.recents.view(limit: 1000).conversations.count)")
                }
            }
        }
        let totals = Log()
        let looking = Task {
            for await view in views where !view.conversations.isEmpty { await totals.add("\(view.totalUnread)") }
        }
        device.connect()
        #expect(try await eventually { await log.lines == ["230"] })
        let list = try await device.recents.view(limit: 230).conversations
        #expect(try await eventually { await !totals.lines.isEmpty })
        await device.close()
        await looking.value
        #expect(await Set(totals.lines) == ["230"])
        var wanted: [ConversationID] = []
        var cursor: String?
        repeat {
            let page = try server.engine.recents(limit: 100, cursor: cursor, by: Caller(user: "bob"))
            wanted += page.heads.map(\.conversation)
            cursor = page.next
        } while cursor != nil
        #expect(list.map(\.id) == wanted)
        watching.cancel()
        await server.close()
    }
}
