import Foundation
import Scrollback
import ScrollbackTesting
import ScrollbackUI
import Testing

@MainActor
@Suite("ThreadsModel")
struct ThreadsModelTests {
    @Test("The model loads pages, and shows new replies and the user's own changes without a request")
    func pages() async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let bob = try await server.client("bob").conversation(.group("swift"))
        let alice = try await server.client("alice").conversation(.group("swift"))
        var roots: [MessageID] = []
        for number in 1...3 {
            roots.append(try await bob.send(.text("\(number)")).waitUntilSent().id)
            _ = try await bob.send(.text("reply"), replyingTo: roots[number - 1]).waitUntilSent()
        }
        let model = ThreadsModel(alice, pageSize: 2)
        try await model.reload()
        try await shows { model.threads.map(\.id) == [roots[2], roots[1]] && model.hasMore && !model.isLoading }
        try await model.loadMore()
        try await shows { model.threads.map(\.id) == roots.reversed() && !model.hasMore }
        _ = try await bob.send(.text("again"), replyingTo: roots[0]).waitUntilSent()
        try await shows { model.threads.map(\.id) == [roots[0], roots[2], roots[1]] }
        #expect(model.threads[0].state.unread == 2 && model.threads[0].lastReply?.text == "again")
        server.goOffline("alice")
        try await model.markRead(roots[0])
        try await model.setFollowed(true, roots[0])
        try await shows { model.threads[0].state.unread == 0 && model.threads[0].state.isFollowed }
        try await model.reload()
        #expect(model.error?.isTemporary == true)
        try await shows { model.threads.count == 2 && model.hasMore }
        try await model.loadMore()
        try await shows { model.threads.count == 3 && !model.hasMore }
        server.goOnline("alice")
        try await shows { model.threads[0].state.isFollowed }
        await server.close()
    }
    @Test("A thread disappears with its first message, and a deleted reply is not shown as the newest one")
    func hiddenMessages() async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let bob = try await server.client("bob").conversation(.group("swift"))
        let alice = try await server.client("alice").conversation(.group("swift"))
        let kept = try await bob.send(.text("kept")).waitUntilSent().id
        let hidden = try await bob.send(.text("hidden")).waitUntilSent().id
        for root in [kept, hidden] { _ = try await bob.send(.text("first"), replyingTo: root).waitUntilSent() }
        let last = try await bob.send(.text("last"), replyingTo: kept).waitUntilSent().id
        let model = ThreadsModel(alice)
        try await model.reload()
        try await shows { model.threads.map(\.id) == [kept, hidden] && model.threads[0].lastReply?.text == "last" }
        server.goOffline("alice")
        try await alice.delete([hidden, last], for: .me)
        try await shows { model.threads.map(\.id) == [kept] && model.threads[0].lastReply?.text == "first" }
        await server.close()
    }
}
