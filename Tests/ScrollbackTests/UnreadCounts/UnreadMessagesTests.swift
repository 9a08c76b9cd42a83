import ContractRows
import Foundation
import Scrollback
import ScrollbackTesting
import TestSupport
import Testing

/// Tests the sequences of unread messages and of missed messages.
@Suite("Sequences of unread and missed messages", .timeLimit(.minutes(10)))
struct UnreadMessagesTests {
    private let group = ConversationID.group("swift")
    private let channel = ConversationID.community("city", channel: "general")

    private func texts(_ messages: MessageSequence) async throws -> [String] {
        var texts: [String] = []
        for try await message in messages { texts.append(message.text ?? "-") }
        return texts
    }

    @Test(
        "Unread messages are iterated oldest first, from local and remote messages, on each client",
        .rows(208))
    func unread() async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let alice = try await server.client("alice")
        try await alice.sendMessages(1...150, in: group)
        let phone = try await server.client("bob")
        let tablet = try await server.client("bob")
        let (chat, other) = (phone.conversation(group), tablet.conversation(group))
        #expect(try await eventually { try await chat.recent()?.unread == 150 })
        // A new client has the last message, and the sequence loads the others.
        #expect(try await texts(try await chat.unreadMessages()) == (1...150).map(String.init))

        let read = try await chat.history(.around(.seq(20), before: 0, after: 0)).messages[0]
        try await chat.markRead(upTo: read.id)
        _ = try await chat.send(.text("mine")).waitUntilSent()
        _ = try await alice.conversation(group).send(.text("beep"), traits: .init(countsUnread: false)).waitUntilSent()
        _ = try await alice.conversation(group).recall(read.id).waitUntilSent()
        let taken = try await chat.history(.around(.seq(30), before: 0, after: 0)).messages[0]
        _ = try await alice.conversation(group).recall(taken.id).waitUntilSent()
        try await alice.sendMessages(151...151, in: group)
        let left = (Array(21...29) + Array(31...151)).map(String.init)
        for device in [chat, other] {
            let isThere = try await eventually {
                let recent = try await device.recent()
                return recent?.unread == Int64(left.count) && recent?.lastMessage?.text == "151"
            }
            #expect(isThere)
            #expect(try await texts(try await device.unreadMessages()) == left)
        }
        // A running iteration continues when its messages are marked as read.
        var walk = try await other.unreadMessages().makeAsyncIterator()
        #expect(try await walk.next()?.text == "21")
        try await other.markRead()
        #expect(try await walk.next()?.text == "22")
        #expect(try await eventually { try await chat.recent()?.unread == 0 })
        #expect(try await texts(try await chat.unreadMessages()) == [])
        await server.close()
    }

    @Test("Offline, the sequence of unread messages returns local messages and then throws `unreachable`", .rows(208))
    func unreadOffline() async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let alice = try await server.client("alice")
        let bob = try await server.client("bob")
        let chat = bob.conversation(group)
        try await bob.ready()
        try await alice.sendMessages(1...10, in: group)
        #expect(try await eventually { try await bob.texts(in: group).count == 10 })
        server.goOffline("bob")
        for await state in bob.connection where state != .online { break }
        var seen: [String] = []
        do {
            for try await message in try await chat.unreadMessages() { seen.append(message.text ?? "-") }
            Issue.record("The sequence ended without asking the server for further messages.")
        } catch {
            #expect(error.code == .unreachable)
        }
        #expect(seen == (1...10).map(String.init))
        await server.close()
    }

    @Test(
        "Missed messages of a group within seven days are replayed once and in order, and older ones are a gap",
        .rows(149))
    func replays() async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let alice = try await server.client("alice")
        let bob = try await server.client("bob")
        // A new client does not load earlier messages by itself, so it must be ready before the first message.
        try await bob.ready()
        try await alice.sendMessages(1...3, in: group)
        #expect(try await eventually { try await bob.texts(in: group).count == 3 })
        server.goOffline("bob")
        try await alice.sendMessages(4...6, in: group)
        server.advance(by: 5 * 86400)
        try await alice.sendMessages(7...9, in: group)
        server.advance(by: 3 * 86400)
        let events = bob.events
        server.goOnline("bob")
        var received: [String] = []
        for await case .message(let message) in events {
            received.append(message.text ?? "-")
            if message.text == "9" { break }
        }
        #expect(received == ["7", "8", "9"])
        let local = try await bob.conversation(group).history(limit: 10, from: .local)
        #expect(local.messages.map(\.text) == ["9", "8", "7"])
        #expect(local.gap == 4...6)
        // The older messages load on request.
        #expect(try await texts(try await bob.conversation(group).catchUp()) == (4...9).map(String.init))
        #expect(try await bob.conversation(group).recent()?.unread == 9)
        #expect(try await bob.verifyIntegrity() == [])
        await server.close()
    }

    @Test(
        "A channel does not replay missed messages, and `catchUp` returns exactly these",
        .rows(149))
    func catchesUp() async throws {
        let server = try TestServer()
        try await server.makeCommunity("city", channels: ["general"], members: ["alice", "bob"])
        let alice = try await server.client("alice")
        try await alice.sendMessages(1...30, in: channel)
        let bob = try await server.client("bob")
        let chat = bob.conversation(channel)
        #expect(try await eventually { try await chat.recent()?.lastMessage?.text == "30" })
        // A new client has missed nothing.
        #expect(try await texts(try await chat.catchUp()) == [])

        server.goOffline("bob")
        try await alice.sendMessages(31...60, in: channel)
        server.goOnline("bob")
        #expect(try await eventually { try await chat.recent()?.lastMessage?.text == "60" })
        #expect(try await chat.history(limit: 100, from: .local).messages.map(\.text) == ["60"])
        // A second disconnection before any `catchUp` must not lose messages.
        server.goOffline("bob")
        try await alice.sendMessages(61...70, in: channel)
        server.goOnline("bob")
        #expect(try await eventually { try await chat.recent()?.lastMessage?.text == "70" })
        for _ in 1...2 { #expect(try await texts(try await chat.catchUp()) == (31...70).map(String.init)) }

        // Messages that arrive while the client is connected are not missed, and come last.
        try await alice.sendMessages(71...72, in: channel)
        #expect(try await eventually { try await chat.recent()?.lastMessage?.text == "72" })
        #expect(try await texts(try await chat.catchUp()) == (31...72).map(String.init))

        // Once the client has all of them, only the next disconnection counts, however few messages follow.
        server.goOffline("bob")
        try await alice.sendMessages(73...73, in: channel)
        server.goOnline("bob")
        #expect(try await eventually { try await chat.recent()?.lastMessage?.text == "73" })
        #expect(try await texts(try await chat.catchUp()) == ["73"])
        #expect(try await bob.verifyIntegrity() == [])
        await server.close()
    }

    @Test("A subscribed client catches up on the same messages, whether or not they were replayed", .rows(149))
    func subscribedClientCatchesUp() async throws {
        let server = try TestServer()
        try await server.makeCommunity("city", channels: ["general", "new"], members: ["alice", "bob"])
        let alice = try await server.client("alice")
        try await alice.sendMessages(1...10, in: channel)
        let bob = try await server.client("bob")
        let chat = bob.conversation(channel)
        let subscription = chat.subscribe()
        for await state in subscription.states where state == .live { break }
        try await alice.sendMessages(11...20, in: channel)
        #expect(try await eventually { try await chat.recent()?.lastMessage?.text == "20" })

        server.goOffline("bob")
        try await alice.sendMessages(21...40, in: channel)
        try await alice.sendMessages(1...3, in: .community("city", channel: "new"))
        server.goOnline("bob")
        #expect(try await eventually { try await chat.history(limit: 20, from: .local).messages.last?.text == "21" })
        #expect(try await texts(try await chat.catchUp()) == (21...40).map(String.init))
        // If a client learns of a channel when it reconnects, all of the channel's messages were missed.
        let new = bob.conversation(.community("city", channel: "new"))
        #expect(try await eventually { try await new.recent()?.lastMessage?.text == "3" })
        #expect(try await texts(try await new.catchUp()) == ["1", "2", "3"])
        withExtendedLifetime(subscription) {}
        await server.close()
    }
}
