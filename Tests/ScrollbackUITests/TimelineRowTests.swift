import Foundation
import Scrollback
import ScrollbackTesting
import ScrollbackUI
import Testing

@MainActor
@Suite("TimelineModel.rows")
struct TimelineRowTests {
    @Test("Rows separate days and unread messages, and show a sender once for consecutive messages")
    func separators() async throws {
        let server = try TestServer(users: ["bob", "carol"])
        server.startNextDay()
        try await server.makeGroup("swift", members: ["alice", "bob", "carol"])
        let clients = try await (server.client("alice"), server.client("bob"), server.client("carol"))
        for (client, text) in [(clients.1, "1"), (clients.1, "2"), (clients.2, "3")] {
            _ = try await client.conversation(.group("swift")).send(.text(text)).waitUntilSent()
        }
        let chat = clients.0.conversation(.group("swift"))
        let list = RecentsModel(clients.0.recents)
        try await shows { list.conversations.first?.lastMessage?.text == "3" }
        let model = TimelineModel(chat)
        try await shows { model.messages.count == 3 && model.profiles.count == 2 }
        #expect(model.outline == ["day", "unread", "Bob: 1", "2", "Carol: 3"])
        try await chat.markRead()
        try await shows { model.firstUnread == nil }
        #expect(model.outline == ["day", "unread", "Bob: 1", "2", "Carol: 3"], "The separator stays.")
        server.advance(by: 2 * 86_400)
        for (client, text) in [(clients.0, "4"), (clients.2, "5"), (clients.2, "6")] {
            _ = try await client.conversation(.group("swift")).send(.text(text)).waitUntilSent()
        }
        try await shows { model.messages.count == 6 }
        #expect(model.outline == ["day", "unread", "Bob: 1", "2", "Carol: 3", "day", "4", "Carol: 5", "6"])
        let later = TimelineModel(chat)
        try await shows { later.isLoaded }
        #expect(later.outline == ["day", "Bob: 1", "2", "Carol: 3", "day", "4", "unread", "Carol: 5", "6"])
        #expect(Set(model.rows.map(\.id)).count == model.rows.count, "IDs are unique.")
        #expect(model.messages.map(\.id) == model.items.map(\.id))
        await server.close()
    }

    @Test("The row of a message shows its delivery, from waiting to read, and a failed one can be retried")
    func delivery() async throws {
        let server = try TestServer()
        let alice = try await server.client("alice")
        let bob = try await server.client("bob")
        let model = TimelineModel(alice.conversation(.direct("bob")))
        server.goOffline("bob")
        server.goOffline("alice")
        for await state in alice.connection where state != .online { break }
        let sending = try await model.send(.text("1"))
        try await shows { model.messages.map(\.delivery) == [.waiting] }
        #expect(model.messages[0].canCancel && !model.messages[0].canReply && model.messages[0].canEdit)
        server.goOnline("alice")
        try await shows { model.messages.map(\.delivery) == [.sent] }
        #expect(!model.messages[0].canCancel && model.messages[0].canReply && model.messages[0].message == sending.id)
        server.goOnline("bob")
        try await shows { model.messages.map(\.delivery) == [.delivered] }
        try await bob.conversation(.direct("alice")).markRead()
        try await shows { model.messages.map(\.delivery) == [.read] }

        try await server.makeGroup("swift", members: ["bob"])
        let group = TimelineModel(alice.conversation(.group("swift")))
        try await group.send(.text("2"))
        try await shows { group.messages.first?.canRetry == true }
        #expect(group.messages[0].canCancel)
        try await server.setMember("alice", of: .group("swift"), true)
        try await group.retry(group.messages[0].message)
        try await shows { group.messages.map(\.delivery) == [.sent] }
        await server.close()
    }

    @Test("The row of a message shows the message that it replies to, replies, mentions and reactions")
    func details() async throws {
        let server = try TestServer(users: ["bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let alice = TimelineModel(try await server.client("alice").conversation(.group("swift")))
        let bob = try await server.client("bob").conversation(.group("swift"))
        let question = try await bob.send(.text("Who?")).waitUntilSent()
        let answer = try await bob.send(.text("@alice"), mentioning: .users(["alice"]), replyingTo: question.id)
            .waitUntilSent()
        try await shows { alice.messages.count == 2 && alice.profiles["bob"] != nil && alice.messages[0].replies == 1 }
        let row = alice.messages[1]
        #expect(row.mentionsUser && !row.isOwn && row.delivery == nil && !row.canEdit && row.canReply)
        #expect(row.reference?.message == question.id && row.reference?.senderName == "Bob")
        #expect(row.reference?.content?.text == "Who?" && alice.messages[0].reference == nil)

        try await bob.react("👍", to: answer.id)
        try await shows { alice.messages[1].reactions.map(\.count) == [1] }
        #expect(!alice.messages[1].reactions[0].isOwn)
        let outdated = alice.messages[1]
        try await alice.toggleReaction("👍", of: outdated)
        try await shows { alice.messages[1].reactions.map { $0.isOwn ? $0.count : 0 } == [2] }
        try await alice.toggleReaction("👍", of: outdated)
        try await shows { alice.error?.code == .conflict }
        alice.error = nil
        try await alice.toggleReaction("👍", of: alice.messages[1])
        try await shows { alice.messages[1].reactions.map { $0.isOwn ? 0 : $0.count } == [1] }

        try await bob.edit(question.id, to: .text("Who else?"))
        try await shows { alice.messages[0].isEdited && alice.messages[1].reference?.content?.text == "Who else?" }
        try await bob.recall(question.id)
        try await shows { alice.messages[0].content == nil }
        #expect(!alice.messages[0].canReply && alice.messages[1].reference?.content == nil)
        let own = try await alice.send(.text("Me")).waitUntilSent()
        try await alice.recall(own.id)
        try await shows { alice.messages.last?.message == own.id && alice.messages.last?.content == nil }
        await server.close()
    }

    @Test("Visible rows near the ends of the window load more messages in both directions")
    func loads() async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let bob = try await server.client("bob")
        for number in 1...60 { try await bob.conversation(.group("swift")).send(.text("\(number)")) }
        await bob.waitForOutbox()
        let model = TimelineModel(try await server.client("alice").conversation(.group("swift")), window: 12)
        try await shows { model.texts.last == "60" && model.texts.count == 12 }
        model.setVisible(model.rows.suffix(4).map(\.id))
        try await Task.sleep(for: .milliseconds(100))
        #expect(model.texts.first == "49", "The visible rows are far from the first one.")
        while model.texts.first != "1" {
            let first = model.texts.first
            model.setVisible(model.rows.prefix(4).reversed().map(\.id))
            try await shows { model.texts.first != first && !model.isLoadingOlder }
        }
        #expect(!model.isAtNewest)
        while !model.isAtNewest {
            let last = model.texts.last
            model.setVisible(model.rows.suffix(4).map(\.id))
            try await shows { (model.texts.last != last || model.isAtNewest) && !model.isLoadingNewer }
        }
        #expect(model.texts.last == "60" && model.error == nil)
        await server.close()
    }
}

extension TimelineModel {
    /// The rows of messages.
    var messages: [MessageRow] {
        rows.compactMap { if case .message(let row) = $0 { row } else { nil } }
    }

    var texts: [String] { messages.compactMap { $0.content?.text } }

    /// The rows as short texts.
    fileprivate var outline: [String] {
        rows.map { row in
            switch row {
            case .day: "day"
            case .unread: "unread"
            case .gap: "gap"
            case .message(let row): (row.showsSender ? "\(row.senderName): " : "") + (row.content?.text ?? "")
            }
        }
    }
}
