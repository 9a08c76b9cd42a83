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
