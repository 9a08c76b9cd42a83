import Foundation
import Scrollback
import ScrollbackTesting
import ScrollbackUI
import Testing

@MainActor
@Suite("TimelineModel.unreadLine")
struct UnreadLineTests {
    @Test("The unread line moves up to older unread messages that are loaded, and not to messages that arrive later")
    func moves() async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let bob = try await server.client("bob").conversation(.group("swift"))
        var sent: [MessageID] = []
        for number in 1...8 { sent.append(try await bob.send(.text("\(number)")).waitUntilSent().id) }
        let model = TimelineModel(try await server.client("alice").conversation(.group("swift")), window: 4)
        try await shows { model.texts.last == "8" }
        let line = try #require(model.unreadLine)
        #expect(sent.firstIndex(of: line).map { $0 >= 4 } == true)
        try await model.loadOlder()
        try await model.loadOlder()
        try await shows { model.texts.first == "1" && model.unreadLine == sent[0] }
        try await model.markRead()
        try await shows { model.firstUnread == nil }
        _ = try await bob.send(.text("9")).waitUntilSent()
        try await shows { model.firstUnread != nil && model.unreadLine == sent[0] }
        await server.close()
    }
}
