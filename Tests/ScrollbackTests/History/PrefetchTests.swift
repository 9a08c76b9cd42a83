import ContractRows
import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import TestSupport
import Testing

@Suite("Prefetching on a new client", .timeLimit(.minutes(10)))
struct PrefetchTests {
    private let group = ConversationID.group("swift")

    /// The number of messages of a conversation in the local store.
    private func held(_ id: ConversationID, on device: ChatClient) async throws -> Int {
        try await device.conversation(id).history(limit: 100, from: .local).messages.count
    }

    @Test(
        "Prefetching loads messages within its limits of days, conversations and messages",
        .rows(224))
    func limits() async throws {
        let server = try TestServer()
        for name in ["old", "swift", "quiet"] as [Identifier] {
            try await server.makeGroup(name, members: ["alice", "bob"])
        }
        try await server.makeRoom("lobby")
        let alice = try await server.client("alice")
        try await alice.sendMessages(1...5, in: .group("old"))
        server.advance(by: 8 * 86_400)
        try await alice.sendMessages(1...7, in: .group("quiet"))
        try await alice.sendMessages(1...12, in: group)
        let device = try await server.client("bob")
        for await event in device.recents.events {
            if case .loadedAll = event { break }
        }
        let asked = server.historyRequests(of: "bob")
        for name in ["old", "swift", "quiet"] as [Identifier] {
            #expect(try await held(.group(name), on: device) == 1, "\(name)")
        }
        #expect(try await device.recents.prefetch(.init(conversations: 1, messages: 5)) == 1)
        #expect(try await held(group, on: device) == 5)
        #expect(try await held(.group("quiet"), on: device) == 1)
        #expect(try await device.recents.prefetch() == 2)
        #expect(try await held(group, on: device) == 12)
        #expect(try await held(.group("quiet"), on: device) == 7)
        #expect(try await held(.group("old"), on: device) == 1)
        #expect(server.historyRequests(of: "bob") - asked == 3)
        // Messages that the client already has are not loaded again.
        #expect(try await device.recents.prefetch() == 0)
        #expect(try await device.recents.prefetch(.init(days: 30)) == 1)
        #expect(try await held(.group("old"), on: device) == 5)
        #expect(try await device.verifyIntegrity() == [])
        await server.close()
    }

    @Test("By default, 7 days, 100 conversations and 100 messages are prefetched, and no message of a room", .rows(224))
    func standardLimits() async throws {
        let server = try TestServer()
        let groups = (1...101).map { Identifier(known: "g\($0)") }
        for name in groups { try await server.makeGroup(name, members: ["alice", "bob"]) }
        try await server.makeRoom("lobby")
        let alice = try await server.client("alice")
        for name in groups { _ = try await alice.conversation(.group(name)).send(.text("1")) }
        try await alice.sendMessages(1...3, in: .room("lobby"))
        await alice.waitForOutbox()
        // A week passes for all but the last ones.
        server.advance(by: 6 * 86_400)
        for name in groups.dropFirst() { _ = try await alice.conversation(.group(name)).send(.text("2")) }
        await alice.waitForOutbox()
        try await alice.sendMessages(1...101, in: .group(groups[100]))
        server.advance(by: 86_400)
        for name in groups.dropFirst() { _ = try await alice.conversation(.group(name)).send(.text("3")) }
        await alice.waitForOutbox()
        let device = try await server.client("bob")
        try await device.ready()
        #expect(try await eventually { try await device.recents.view(limit: 200).conversations.count == 101 })
        // The oldest conversation is older than seven days, and all others are newer.
        #expect(try await device.recents.prefetch() == 100)
        #expect(try await held(.group(groups[0]), on: device) == 1)
        #expect(try await held(.group(groups[1]), on: device) == 3)
        // Of 104 messages, the newest 100.
        let full = device.conversation(.group(groups[100]))
        #expect(try await full.history(limit: 100, from: .local).messages.last?.seq == 5)
        #expect(try await full.history(.before(.seq(5)), from: .local).messages.isEmpty)
        #expect(try await held(.room("lobby"), on: device) == 0)
        // With one more conversation of this week, the last in the list is left out.
        _ = try await alice.conversation(.group(groups[0])).send(.text("4")).waitUntilSent()
        let another = try await server.client("bob")
        try await another.ready()
        #expect(try await eventually { try await another.recents.view(limit: 200).conversations.count == 101 })
        #expect(try await another.recents.prefetch() == 100)
        #expect(try await held(.group(groups[1]), on: another) == 1)
        #expect(try await held(.group(groups[0]), on: another) == 2)
        await server.close()
    }

    @Test(
        "After 40 days, a device gets the missed messages of the replayed days by itself, and all others on demand",
        .rows(224), arguments: [7, 60])
    func longAbsence(replayDays: Int) async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        try await server.set { $0.replayDays = replayDays }
        let (alice, bob) = (try await server.client("alice"), try await server.client("bob"))
        try await alice.sendMessages(1...1, in: group)
        #expect(try await eventually { try await held(group, on: bob) == 1 })
        server.goOffline("bob")
        try await alice.sendMessages(2...150, in: group)
        server.advance(by: 40 * 86_400)
        try await alice.sendMessages(151...160, in: group)
        server.goOnline("bob")
        let chat = bob.conversation(group)
        let oldest = Seq(replayDays == 7 ? 151 : 1)
        let isReplayed = try await eventually {
            try await bob.core.store.read { [group] in try $0.storedSeqs(in: group).filter { $0 > 1 } }
                == Array(max(2, oldest)...160)
        }
        #expect(isReplayed)
        #expect(server.historyRequests(of: "bob") == 0, "The client got them without a request of the app.")
        #expect(try await chat.recent()?.unread == 160)
        let newest = try await chat.history(limit: 100).messages
        let others = try await chat.history(.before(.seq(61)), limit: 100).messages
        #expect((newest + others).map(\.seq) == (1...160).reversed().map { Seq($0) })
        #expect((server.historyRequests(of: "bob") == 0) == (replayDays == 60))
        await server.close()
    }

    @Test("Messages up to the new-device floor are not prefetched, and later ones are", .rows(222, 224))
    func prefetchStopsAtNewDeviceFloor() async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let alice = try await server.client("alice")
        let phone = try await server.client("bob")
        try await alice.sendMessages(1...4, in: group)
        #expect(try await eventually { try await phone.recents[group]?.unread == 4 })
        try await phone.recents.excludeFromNewDevices([group])
        #expect(try await eventually { try server.engine.head(of: group, by: Caller(user: "bob")).newDeviceFloor == 4 })
        try await alice.sendMessages(1...3, in: group)
        let device = try await server.client("bob")
        #expect(try await eventually { try await device.recents[group]?.unread == 7 })
        #expect(try await device.recents.prefetch() == 1)
        #expect(try await held(group, on: device) == 3)
        #expect(try await device.conversation(group).history(limit: 100).messages.count == 7)
        await server.close()
    }

    @Test("A cancelled prefetch stops loading and throws `cancelled`")
    func cancelled() async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        try await server.client("alice").sendMessages(1...5, in: group)
        let device = try await server.client("bob")
        #expect(try await eventually { try await device.recents[group]?.unread == 5 })
        let asked = server.historyRequests(of: "bob")
        let loading = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await device.recents.prefetch()
        }
        loading.cancel()
        let error = await #expect(throws: ChatError.self) { try await loading.value }
        #expect(error?.code == .cancelled)
        #expect(server.historyRequests(of: "bob") == asked)
        #expect(try await device.recents.prefetch() == 1)
        await server.close()
    }

    @Test("A prefetch limit out of range is refused by name, and so is a conversation kind without recents")
    func refusals() async throws {
        let server = try TestServer()
        let device = try await server.client("bob")
        for (limits, name) in [
            (Recents.PrefetchLimits(days: 0), "days"), (.init(conversations: 0), "conversations"),
            (.init(messages: 101), "messages"),
        ] {
            let error = await #expect(throws: ChatError.self) { try await device.recents.prefetch(limits) }
            #expect(error?.code == .invalidParameter && error?.parameter == name)
        }
        let room = ConversationID.room("lobby")
        for refused in [
            await #expect(throws: ChatError.self) { try await device.recents.excludeFromNewDevices([room]) },
            await #expect(throws: ChatError.self) { try await device.recents.setLocalExtension(nil, of: room) },
        ] { #expect(refused?.code == .invalidParameter && refused?.parameter == "conversation") }
        await server.close()
    }
}
