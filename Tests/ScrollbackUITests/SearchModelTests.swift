import Foundation
import Scrollback
import ScrollbackTesting
import ScrollbackUI
import Testing

@MainActor
@Suite("SearchModel")
struct SearchModelTests {
    @Test("The model shows the messages that match the newest text, with titles and senders, in pages")
    func search() async throws {
        let server = try TestServer(users: ["bob"])
        try await server.makeGroup("swift", members: ["bob", "alice"])
        let bob = try await server.client("bob")
        let alice = try await server.client("alice")
        for id in [ConversationID.group("swift"), .direct("alice"), .group("swift")] {
            _ = try await bob.conversation(id).send(.text("data migration")).waitUntilSent()
        }
        let model = SearchModel(alice, pageSize: 2)
        #expect(!model.isActive)
        model.text = "dat"
        model.text = "migr"
        try await shows { model.results.map(\.title) == ["swift", "Bob"] && model.hasMore && !model.isSearching }
        let row = model.results[0]
        #expect(model.isActive && row.senderName == "Bob" && row.conversation == .group("swift") && !model.isLocal)
        #expect(row.text == "data migration" && row.highlights.count == 1)
        await model.loadMore()
        #expect(model.results.map(\.title) == ["swift", "Bob", "swift"] && !model.hasMore)
        model.text = "absent"
        try await shows { model.results.isEmpty && !model.isSearching }
        model.text = ""
        try await shows { model.results.isEmpty && !model.isActive && model.error == nil }
        server.goOffline("alice")
        for await state in alice.connection where state != .online { break }
        model.text = "data"
        try await shows { model.results.count == 2 && model.isLocal }
        #expect(model.error == nil)
        await server.close()
    }
}
