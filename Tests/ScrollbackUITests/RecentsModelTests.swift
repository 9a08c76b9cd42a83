import ContractRows
import Foundation
import Scrollback
import ScrollbackTesting
import ScrollbackUI
import Testing

@MainActor
@Suite("RecentsModel")
struct RecentsModelTests {
    /// Creates a server where Alice has `count` groups with one message each; group 1 has the oldest message.
    private func server(_ count: Int) async throws -> (server: TestServer, alice: ChatClient) {
        let server = try TestServer()
        let bob = try await server.client("bob")
        for number in 1...count {
            try await server.makeGroup(try Identifier("\(number)"), members: ["bob", "alice"])
            _ = try await bob.conversation(group(number)).send(.text("\(number)")).waitUntilSent()
        }
        return (server, try await server.client("alice"))
    }

    private func group(_ number: Int) throws -> ConversationID { .group(try Identifier("\(number)")) }

    @Test("The model grows by pages, and its totals cover the whole list from the start", .rows(183, 185, 192, 205))
    func pages() async throws {
        let (server, alice) = try await server(25)
        let model = RecentsModel(alice.recents, pageSize: 10)
        #expect(!model.isLoaded && !model.hasLoadedAll)
        try await shows { model.numbers == Array((16...25).reversed()) && model.totals.unread == 25 }
        #expect(model.hasMore && !model.hasLoadedAll)
        try await model.loadMore()
        #expect(model.numbers == Array((6...25).reversed()), "The page is available when the call returns.")
        try await model.loadMore()
        #expect(model.numbers == Array((1...25).reversed()))
        try await shows { model.hasLoadedAll }
        try await model.loadMore()
        #expect(model.numbers.count == 25)
        // A new message moves its conversation to the top of the grown list.
        let bob = try await server.client("bob")
        _ = try await bob.conversation(group(3)).send(.text("3")).waitUntilSent()
        try await shows { model.numbers == [3] + (1...25).reversed().filter { $0 != 3 } }
        #expect(model.totals.unread == 26)
        await server.close()
    }

    @Test("A new filter resets the model to one page and does not change the totals")
    func filters() async throws {
        let (server, alice) = try await server(8)
        let bob = try await server.client("bob")
        _ = try await bob.conversation(.direct("alice")).send(.text("hello")).waitUntilSent()
        let model = RecentsModel(alice.recents, pageSize: 3)
        try await shows { model.conversations.count == 3 && model.totals.unread == 9 }
        try await model.loadMore()
        model.filter = .init(kinds: [.direct])
        try await shows { model.conversations.map(\.id) == [.direct("bob")] && !model.hasMore }
        #expect(model.totals.unread == 9)
        model.filter = .init(kinds: [.group])
        try await shows { model.numbers == [8, 7, 6] && model.hasMore }
        await server.close()
    }

    @Test("The user's actions appear on this device and on the user's other devices")
    func actionsAppearOnAllDevices() async throws {
        let (server, alice) = try await server(4)
        let other = try await server.client("alice")
        let model = RecentsModel(alice.recents)
        let tablet = RecentsModel(other.recents)
        for model in [model, tablet] { try await shows { model.numbers == [4, 3, 2, 1] } }
        try await model.setPinned(true, group(2))
        try await model.setMuted(true, group(3))
        try await model.remove(group(1))
        try await model.markRead([group(4)])
        try await model.markUnread(group(4))
        for model in [model, tablet] {
            try await shows {
                model.numbers == [2, 4, 3] && model.totals.unread == 2 && model.totals.unread(muted: true) == 1
                    && model.conversations.map(\.isPinned) == [true, false, false]
                    && model.conversations.map(\.isMuted) == [false, false, true]
                    && model.conversations.map(\.isMarkedUnread) == [false, true, false]
            }
        }
        try await tablet.setPinned(false, group(2))
        try await tablet.markAllRead()
        for model in [model, tablet] {
            try await shows {
                model.numbers == [4, 3, 2] && model.totals.unread == 0
                    && !model.conversations.contains { $0.isMarkedUnread }
            }
        }
        #expect(try await model.markRead([group(4), .group("elsewhere")]) == [.group("elsewhere")])
        await #expect(throws: ChatError.self) { try await model.setPinned(true, .room("lobby")) }
        #expect(model.error?.code == .invalidParameter)
        await server.close()
    }

    @Test("A released model is deallocated and stops its tasks")
    func released() async throws {
        let (server, alice) = try await server(3)
        var model: RecentsModel? = RecentsModel(alice.recents, pageSize: 2)
        weak let released = model
        if let model {
            try await shows { model.numbers == [3, 2] }
            try await model.loadMore()
        }
        let running = try #require(model).running
        #expect(running.count == 1)
        model = nil
        try #require(released == nil)
        for task in running { await task.value }
        await server.close()
    }
}

extension RecentsModel {
    /// The names of the shown groups as numbers.
    fileprivate var numbers: [Int] {
        conversations.compactMap { Int($0.id.description.dropFirst("group:".count)) }
    }
}
