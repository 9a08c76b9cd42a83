import Foundation
import Scrollback
import ScrollbackTesting
import ScrollbackUI
import TestSupport
import Testing

@MainActor
@Suite("ConversationListModel")
struct ConversationListModelTests {
    @Test("A row shows the name, the last message with its sender, counts, and typing users before the draft")
    func rows() async throws {
        let server = try TestServer(users: ["bob"])
        try await server.makeGroup("swift", members: ["bob", "alice"])
        let bob = try await server.client("bob")
        let alice = try await server.client("alice")
        let group = bob.conversation(.group("swift"))
        _ = try await bob.conversation(.direct("alice")).send(.text("hello")).waitUntilSent()
        _ = try await group.send(.text("@alice?"), mentioning: .users(["alice"])).waitUntilSent()
        let model = ConversationListModel(alice)
        try await shows { model.rows.map(\.title) == ["swift", "Bob"] }
        let (first, second) = (model.rows[0], model.rows[1])
        #expect(first.unread == 1 && first.hasMention && first.isUnread && !first.isMuted && first.date != nil)
        #expect(second.unread == 1 && !second.hasMention)
        #expect(first.last == "@alice?" && first.sender == "Bob")
        #expect(second.last == "hello" && second.sender == nil, "The title names the sender of a direct conversation.")

        try await alice.conversation(.group("swift")).setDraft("I think")
        try await shows { model.rows[0].line == .draft("I think") }
        let typing = repeating { group.setTyping(true) }
        try await shows { model.rows[0].line == .typing(["Bob"]) }
        typing.cancel()
        group.setTyping(false)
        try await shows { model.rows[0].line == .draft("I think") }
        try await model.toggleMuted(first)
        try await model.togglePinned(second)
        try await shows { model.rows.map(\.isMuted) == [false, true] && model.rows.map(\.isPinned) == [true, false] }
        try await model.recents.markRead([second.id])
        try await model.recents.markUnread(second.id)
        try await shows { model.rows[0].unread == 0 && model.rows[0].isUnread }
        // The user's own last message shows no sender.
        _ = try await alice.conversation(.group("swift")).send(.text("I think")).waitUntilSent()
        try await shows { model.rows[1].last == "I think" && model.rows[1].sender == nil }
        await server.close()
    }

    @Test("A row with a mention is unread, even if the message does not count as unread")
    func uncountedMention() async throws {
        let server = try TestServer(users: ["bob"])
        try await server.makeGroup("swift", members: ["bob", "alice"])
        let group = try await server.client("bob").conversation(.group("swift"))
        _ = try await group.send(
            .text("@alice"), mentioning: .users(["alice"]), traits: MessageTraits(countsUnread: false)
        ).waitUntilSent()
        let model = ConversationListModel(try await server.client("alice"))
        try await shows { model.rows.first?.hasMention == true }
        #expect(model.rows[0].unread == 0 && model.rows[0].isUnread)
        await server.close()
    }

    @Test("The list loads another page when its last row appears")
    func pages() async throws {
        let server = try TestServer()
        let bob = try await server.client("bob")
        for number in 1...3 {
            try await server.makeGroup(try Identifier("\(number)"), members: ["bob", "alice"])
            _ = try await bob.conversation(.group(try Identifier("\(number)"))).send(.text("hello")).waitUntilSent()
        }
        let model = ConversationListModel(try await server.client("alice"), pageSize: 2)
        try await shows { model.rows.map(\.title) == ["3", "2"] && model.recents.hasMore }
        await model.rowAppeared(model.rows[0].id)
        #expect(model.rows.count == 2)
        await model.rowAppeared(model.rows[1].id)
        #expect(model.rows.map(\.title) == ["3", "2", "1"])
        await server.close()
    }

    @Test("Opening a conversation adds it to the path with its title and its start")
    func opens() async throws {
        let server = try TestServer(users: ["bob"])
        let bob = try await server.client("bob")
        var sent: [Message] = []
        for number in 1...3 {
            sent.append(
                try await bob.conversation(.direct("alice")).send(.text("\(number)")).waitUntilSent())
        }
        let model = ConversationListModel(try await server.client("alice"))
        try await shows { model.rows.map(\.title) == ["Bob"] }
        model.open(model.rows[0].id)
        model.open(model.rows[0].id, at: sent[1].id)
        #expect(model.path.map(\.title) == ["Bob", "Bob"] && model.path[0] != model.path[1])
        try await shows { model.path[0].startRow == "unread" && model.path[1].startRow == sent[1].id.description }
        await server.close()
    }

    @Test("Names that are missing without a connection, or changed in the meantime, appear with the next connection")
    func names() async throws {
        let server = try TestServer(users: ["bob"])
        let alice = try await server.client("alice")
        server.goOffline("alice")
        for await state in alice.connection where state != .online { break }
        try await alice.recents.add(.direct("bob"))
        let model = ConversationListModel(alice)
        try await shows { model.rows.map(\.title) == ["bob"] }
        // Without a connection, the request ends at once.
        _ = try await alice.profiles(of: ["bob"])
        server.goOnline("alice")
        try await shows { model.rows.map(\.title) == ["Bob"] }
        server.goOffline("alice")
        for await state in alice.connection where state != .online { break }
        try await server.setName("Robert", of: "bob")
        // The device requests a profile again after an hour.
        server.advance(by: 2 * 3600)
        server.goOnline("alice")
        try await shows { model.rows.map(\.title) == ["Robert"] }
        await server.close()
    }

    @Test("A search result opens its conversation at the message, with its title, if the list has not loaded it")
    func opensResults() async throws {
        let server = try TestServer()
        let bob = try await server.client("bob")
        try await server.makeGroup("swift", members: ["bob", "alice"])
        let found = try await bob.conversation(.group("swift")).send(.text("migration")).waitUntilSent()
        _ = try await bob.conversation(.direct("alice")).send(.text("hello")).waitUntilSent()
        try await bob.conversation(.group("swift")).update(ConversationSettings(name: "Swift")).waitForCompletion()
        let model = ConversationListModel(try await server.client("alice"), pageSize: 1)
        try await shows { model.rows.map(\.title) == ["bob"] }
        model.search.text = "migration"
        try await shows { model.search.results.map(\.title) == ["Swift"] }
        model.open(model.search.results[0])
        #expect(model.path.map(\.title) == ["Swift"])
        try await shows { model.path[0].startRow == found.id.description }
        await server.close()
    }

    @Test("A conversation begins at its first unread message if a new device has none of its messages")
    func startsAfterGap() async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["bob", "alice"])
        let phone = try await server.client("alice")
        let bob = try await server.client("bob").conversation(.group("swift"))
        for number in 1...3 { _ = try await bob.send(.text("\(number)")).waitUntilSent() }
        let list = RecentsModel(phone.recents)
        try await shows { list.conversations.first?.unread == 3 }
        try await phone.recents.excludeFromNewDevices([.group("swift")])
        // The server receives this later.
        var tablet = try await server.client("alice")
        for _ in 1...300 {
            if try await tablet.recents[.group("swift")]?.lastMessage == nil { break }
            try await Task.sleep(for: .milliseconds(100))
            tablet = try await server.client("alice")
        }
        let screen = ConversationModel(tablet, .group("swift"), title: "swift")
        try await shows { screen.timeline.texts == ["1", "2", "3"] && screen.startRow == "unread" }
        await server.close()
    }

    @Test("A conversation that leaves the path is deallocated, and so is a released list")
    func released() async throws {
        let server = try TestServer()
        let bob = try await server.client("bob")
        _ = try await bob.conversation(.direct("alice")).send(.text("hello")).waitUntilSent()
        var list: ConversationListModel? = ConversationListModel(try await server.client("alice"))
        weak let released = list
        if let list {
            try await shows { list.rows.map(\.title) == ["bob"] }
            list.open(.direct("bob"))
        }
        weak let closed = list?.path.first
        #expect(try await eventually { released?.path.first?.timeline.texts == ["hello"] })
        list?.path = []
        #expect(try await eventually { closed == nil })
        list = nil
        #expect(try await eventually { released == nil })
        await server.close()
    }

    @Test("An open channel receives the signals of typing users")
    func channels() async throws {
        let server = try TestServer()
        try await server.makeCommunity("city", channels: ["general"], members: ["alice", "bob"])
        let id = ConversationID.community("city", channel: "general")
        let alice = ConversationListModel(try await server.client("alice"))
        alice.open(id)
        let screen = alice.path[0]
        #expect(screen.title == "general")
        let bob = try await server.client("bob").conversation(id)
        _ = try await bob.send(.text("hello")).waitUntilSent()
        try await shows { screen.timeline.texts == ["hello"] }
        // The subscription can begin after the first signal.
        let typing = repeating { bob.setTyping(true) }
        try await shows { screen.typing == ["bob"] }
        typing.cancel()
        await server.close()
    }
}

extension ConversationRow {
    fileprivate var last: String? { if case .message(let message, _) = line { message.text } else { nil } }
    fileprivate var sender: String? { if case .message(_, let sender) = line { sender } else { nil } }
}
