import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSync
import ScrollbackTesting
import ScrollbackWire
import TestSupport
import Testing

/// Tests answers that arrive after an event that makes them stale.
@Suite("Late answers", .timeLimit(.minutes(10)))
struct LateAnswersTests {
    private let group = ConversationID.group("swift")
    private let bob = Caller(user: "bob")

    /// A group of Alice and Bob. Bob's only client uses transports that can hold back answers.
    private func withGroup(
        _ held: HeldTransport..., body: (TestServer, _ alice: ChatClient, _ phone: ChatClient) async throws -> Void
    ) async throws {
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let alice = try await server.client("alice")
        let phone = try await server.client("bob") { for held in held { held.use(in: &$0) } }
        for client in [alice, phone] { try await client.ready() }
        try await body(server, alice, phone)
        #expect(try await phone.verifyIntegrity() == [])
        await server.close()
    }

    @Test("A page that was read before its conversation was deleted does not restore the conversation")
    func latePageDoesNotRestoreConversation() async throws {
        let held = HeldTransport { $0.type == "history" }
        try await withGroup(held) { server, alice, phone in
            try await alice.sendMessages(1...3, in: group)
            #expect(try await eventually { try await phone.recents[group]?.unread == 3 })
            held.hold()
            async let page = phone.conversation(group).history(.latest, limit: 10, from: .remote)
            #expect(try await eventually { held.heldCount == 1 })
            try await server.delete(group)
            #expect(try await eventually { try await phone.recents[group] == nil })
            held.release()
            let late = try await page
            #expect(late.messages.count == 3)
            #expect(try await eventually { try await phone.recents[group] == nil })
            #expect(try await phone.texts(in: group) == [])
        }
    }

    @Test(
        "A message that was found before its conversation was deleted does not restore the conversation",
        arguments: ["search", "refresh"])
    func lateMessageDoesNotRestoreConversation(type: String) async throws {
        let held = HeldTransport { $0.type == type }
        try await withGroup(held) { server, alice, phone in
            let message = try await alice.sendMessages(1...1, in: group)[0]
            #expect(try await eventually { try await phone.recents[group]?.unread == 1 })
            held.hold()
            async let found =
                type == "search"
                ? phone.search("1", from: .remote).hits.map(\.message.id)
                : phone.refresh([MessageReference(message.id, in: group)]).matched.map(\.id)
            #expect(try await eventually { held.heldCount == 1 })
            try await server.delete(group)
            #expect(try await eventually { try await phone.recents[group] == nil })
            held.release()
            #expect(try await found == [message.id])
            #expect(
                try await eventually { try await phone.core.store.read { [group] in try $0.log(of: group) } == nil })
        }
    }

    @Test(
        "A head that was read before its conversation was deleted does not restore the conversation",
        arguments: ["heads", "subscribe"])
    func lateHeadDoesNotRestoreConversation(type: String) async throws {
        let held = HeldTransport { $0.type == type }
        let id = type == "subscribe" ? ConversationID.community("city", channel: "open") : group
        try await withGroup(held) { server, alice, phone in
            func isKnown() async throws -> Bool { try await phone.core.store.read { try $0.log(of: id) != nil } }
            try await server.makeCommunity("city", channels: ["open"], members: ["alice", "bob"])
            try await alice.sendMessages(1...1, in: id)
            #expect(try await eventually { try await phone.recents[id] != nil })
            held.hold()
            var subscription: Conversation.Subscription?
            if type == "subscribe" {
                subscription = phone.conversation(id).subscribe()
            } else {
                held.deliver(ServerEvent.conversation(id, isDeleted: false).encoded())
            }
            #expect(try await eventually { held.heldCount > 0 })
            try await server.delete(id)
            #expect(try await eventually { try await !isKnown() })
            held.release()
            // The client handles this answer after the held one.
            _ = try await phone.refresh([MessageReference(MessageID(UUID()), in: group)])
            #expect(try await !isKnown())
            _ = subscription
        }
    }

    @Test("A conversation that a late answer restored is deleted when a message to it is refused")
    func refusedMessageDeletesRestoredConversation() async throws {
        try await withGroup(HeldTransport()) { server, _, phone in
            // The device reports no delivery of its own message, which would be refused too.
            try await phone.conversation(group).send(.text("early")).waitForCompletion()
            #expect(try await eventually { try await phone.recents[group]?.lastMessage?.text == "early" })
            let head = try server.engine.head(of: group, by: bob)
            try await server.delete(group)
            #expect(try await eventually { try await phone.recents[group] == nil })
            try await phone.core.apply([.head(head)])
            #expect(try await phone.recents[group] != nil)
            await #expect(throws: ChatError.self) {
                try await phone.conversation(group).send(.text("late")).waitUntilSent()
            }
            #expect(try await eventually { try await phone.recents[group] == nil })
        }
    }

    @Test("A message that another device hides before its send is acknowledged does not come back")
    func messageHiddenBeforeItsAnswer() async throws {
        let held = HeldTransport { $0.type == "send" }
        try await withGroup(held) { server, alice, phone in
            let laptop = try await server.client("bob")
            try await laptop.ready()
            held.hold()
            let message = try await phone.conversation(group).send(.text("1"))
            #expect(try await eventually { held.heldCount == 1 })
            #expect(try await eventually { try await laptop.texts(in: group) == ["1"] })
            try await laptop.conversation(group).delete(message.id, for: .me)
            // This message is sent after the event of the hidden one. One in the group would leave a gap to read.
            try await alice.sendMessages(2...2, in: .direct("bob"))
            #expect(try await eventually { try await phone.recents[.direct("alice")]?.lastMessage?.text == "2" })
            held.release()
            #expect(try await eventually { try await phone.core.store.read { try $0.outbox().isEmpty } })
            try await until("gone", [phone, laptop]) { try await $0.texts(in: group) == [] }
        }
    }

    @Test("An event about a hidden message whose number a client does not know makes it synchronize again")
    func hiddenMessageWithAnUnknownNumber() async throws {
        let held = HeldTransport()
        try await withGroup(held) { server, _, phone in
            let stored = try await phone.core.store.read { [group] in try $0.log(of: group) }
            let log = try #require(stored)
            for (epoch, places) in [(log.epoch, [log.head + 1...log.head + 1]), (Epoch(rawValue: 1), [1...1])] {
                let asked = server.requests(of: "bob")["sync"] ?? 0
                held.deliver(ServerEvent.hidden(group, epoch, places).encoded())
                #expect(try await eventually { (server.requests(of: "bob")["sync"] ?? 0) > asked })
                try await phone.ready()
            }
        }
    }

    @Test("Conversations that change between two list windows of a new client are in its list")
    func betweenWindows() async throws {
        let held = HeldTransport { frame in
            frame.type == "sync" && frame.members["positions"] == nil && frame.members["cursor"] == nil
        }
        let server = try TestServer(users: ["alice", "bob", "carol"])
        let alice = try await server.client("alice")
        // These two are at the end of the list, because the first window has a hundred conversations.
        let direct = ConversationID.direct("alice")
        try await server.client("bob").sendMessages(1...1, in: direct)
        #expect(try await eventually { try await alice.recents[.direct("bob")]?.unread == 1 })
        try await server.makeGroup("old", members: ["alice", "bob"])
        try await alice.sendMessages(1...1, in: .group("old"))
        for number in 1...100 {
            let name = Identifier(known: "g\(number)")
            try await server.makeGroup(name, members: ["alice", "bob"])
            try await alice.sendMessages(1...1, in: .group(name))
        }
        let phone = try await server.disconnectedClient("bob") { held.use(in: &$0) }
        held.hold()
        phone.connect()
        #expect(try await eventually { held.heldCount == 1 })
        try await alice.conversation(.direct("bob")).markRead()
        try await server.setMember("carol", of: .group("old"), true)
        #expect(try await eventually { try server.engine.head(of: direct, by: bob).peerReadSeq == 1 })
        held.release()
        #expect(try await eventually { try await phone.recents.view(limit: 200).conversations.count == 102 })
        let last = try await phone.recents.view(limit: 200).conversations.suffix(2)
        #expect(last.map(\.id) == [.group("old"), direct])
        #expect(last.last?.peerReadSeq == 1)
        await server.close()
    }

    @Test("A peer's read position that arrives before the first head of a new log is shown with it")
    func peerReadBeforeNewLog() async throws {
        let held = HeldTransport { $0.type == "sync" && $0.members["positions"] == nil }
        let folder = try TemporaryFolder()
        let server = try TestServer(users: ["alice", "bob"])
        let (alice, laptop) = (try await server.client("alice"), try await server.client("bob"))
        let old = try await server.client("bob", store: .directory(folder.url))
        for client in [alice, laptop, old] { try await client.ready() }
        let chat = ConversationID.direct("alice")
        try await old.sendMessages(1...1, in: chat)
        #expect(try await eventually { try await laptop.texts(in: chat) == ["1"] })
        await old.close()
        try await server.delete(.direct(between: "alice", and: "bob"))
        #expect(try await eventually { try await laptop.texts(in: chat) == [] })
        try await laptop.sendMessages(2...3, in: chat)
        #expect(try await eventually { try await alice.recents[.direct("bob")]?.unread == 2 })

        let phone = try await server.disconnectedClient("bob", store: .directory(folder.url)) { held.use(in: &$0) }
        held.hold()
        phone.connect()
        #expect(try await eventually { held.heldCount > 0 })
        try await alice.conversation(.direct("bob")).markRead()
        #expect(try await eventually { try await phone.recents[chat]?.peerReadSeq == 2 })
        held.release()
        try await phone.ready()
        #expect(try await eventually { try await phone.texts(in: chat) == ["2", "3"] })
        #expect(try await eventually { try await phone.recents[chat]?.peerReadSeq == 2 })
        await server.close()
    }

    @Test("A setting is sent even if a read of the same conversation is refused permanently")
    func refusedRead() async throws {
        let held = HeldTransport { $0.type == "read" }
        try await withGroup(held) { server, alice, phone in
            try await alice.sendMessages(1...3, in: group)
            #expect(try await eventually { try await phone.recents[group]?.unread == 3 })
            server.goOffline("bob")
            // The group is recreated, so the offline read refers to a log that no longer exists.
            try await server.delete(group)
            try await server.makeGroup("swift", members: ["alice", "bob"])
            try await alice.sendMessages(1...2, in: group)
            try await phone.conversation(group).markRead()
            try await phone.conversation(group).setMuted(true)
            held.hold()
            server.goOnline("bob")
            #expect(try await eventually { held.heldCount > 0 })
            try await phone.ready()
            held.release()
            #expect(try await eventually { try server.engine.head(of: group, by: bob).isMuted })
            #expect(try await eventually { try await phone.recents[group]?.unread == 2 })
        }
    }

    @Test("A read of a new log is sent even if a read of the old log is refused after it")
    func readAfterARefusedOne() async throws {
        let held = HeldTransport { $0.type == "read" }
        try await withGroup(held) { server, alice, phone in
            try await alice.sendMessages(1...3, in: group)
            #expect(try await eventually { try await phone.recents[group]?.unread == 3 })
            server.goOffline("bob")
            try await server.delete(group)
            try await server.makeGroup("swift", members: ["alice", "bob"])
            try await alice.sendMessages(1...2, in: group)
            try await phone.conversation(group).markRead()
            held.hold()
            server.goOnline("bob")
            #expect(try await eventually { held.heldCount > 0 })
            try await phone.ready()
            #expect(try await eventually { try await phone.recents[group]?.unread == 2 })
            // This read waits for the answer to the first one.
            try await phone.conversation(group).markRead()
            held.release()
            #expect(try await eventually { try server.engine.head(of: group, by: bob).unread == 0 })
            #expect(try await phone.recents[group]?.unread == 0)
        }
    }

    @Test("Messages of a subscribed channel arrive although a sync is in flight and the user joins a group")
    func messagesArriveDuringSyncAndJoin() async throws {
        let held = HeldTransport { $0.type == "sync" && $0.members["positions"] != nil }
        let channel = ConversationID.community("city", channel: "open")
        try await withGroup(held) { server, alice, phone in
            try await server.makeCommunity("city", channels: ["open"], members: ["alice", "bob"])
            try await server.makeGroup("two", members: ["alice"])
            let subscription = phone.conversation(channel).subscribe()
            for await state in subscription.states where state == .live { break }
            try await alice.sendMessages(1...1, in: channel)
            #expect(try await eventually { try await phone.texts(in: channel) == ["1"] })
            server.goOffline("bob")
            try await alice.sendMessages(2...4, in: channel)
            held.hold()
            server.goOnline("bob")
            #expect(try await eventually { held.heldCount > 0 })
            try await phone.ready()
            // The client holds these until the answer arrives. Then another sync starts.
            try await alice.sendMessages(5...6, in: channel)
            let asked = server.requests(of: "bob")["sync"] ?? 0
            try await server.setMember("bob", of: .group("two"), true)
            #expect(try await eventually { (server.requests(of: "bob")["sync"] ?? 0) > asked })
            held.release()
            #expect(
                try await eventually { try await phone.texts(in: channel) == ["1", "2", "3", "4", "5", "6"] })
            _ = subscription
        }
    }

    /// Whether a client has received all of its user's changes in the group.
    private func hasReceivedAllEvents(_ device: ChatClient, in server: TestServer) async throws -> Bool {
        let received = try await device.core.store.read { [group] in try $0.readState(of: group)?.countedAt.userRev }
        return try received == server.engine.head(of: group, by: bob).userRev
    }

    @Test("A client requests the head if another client clears its unread flag before the flag is acknowledged")
    func flagClearedElsewhereRequestsTheHead() async throws {
        let held = HeldTransport { $0.type == "markUnread" }
        try await withGroup(held) { server, alice, phone in
            let laptop = try await server.client("bob")
            try await laptop.ready()
            try await alice.sendMessages(1...3, in: group)
            try await until("there", [phone, laptop]) { try await $0.recents[group]?.unread == 3 }
            held.hold()
            try await phone.conversation(group).markUnread()
            #expect(try await eventually { held.heldCount == 1 })
            try await until("marked", [laptop]) { try await $0.recents[group]?.isMarkedUnread == true }
            try await laptop.conversation(group).markRead()
            #expect(try await eventually { try !server.engine.head(of: group, by: bob).isMarkedUnread })
            #expect(try await eventually { try await hasReceivedAllEvents(phone, in: server) })
            // The client keeps its own change until the server answers it.
            #expect(try await phone.recents[group]?.isMarkedUnread == true)
            let asked = server.requests(of: "bob")["heads"] ?? 0
            held.release()
            try await until("ended", [phone]) { try await $0.recents[group]?.isMarkedUnread == false }
            #expect(server.requests(of: "bob")["heads"] == asked + 1)
        }
    }

    @Test("An unread flag that a read did not know shows once the read is answered, even after a newer change")
    func flagUnknownToTheReadIsShown() async throws {
        let held = HeldTransport { $0.type == "read" }
        try await withGroup(held) { server, alice, phone in
            try await alice.sendMessages(1...3, in: group)
            #expect(try await eventually { try await phone.recents[group]?.unread == 3 })
            server.goOffline("bob")
            try await phone.conversation(group).markRead()
            _ = try await server.perform { $0.change(group, .markUnread, by: bob, completion: $1) }
            held.hold()
            server.goOnline("bob")
            #expect(try await eventually { held.heldCount == 1 })
            try await phone.ready()
            _ = try await server.perform {
                $0.change(group, .settings(isMuted: true, isPinned: nil), by: bob, completion: $1)
            }
            #expect(try await eventually { try await hasReceivedAllEvents(phone, in: server) })
            // The flag could be the one that the read clears.
            #expect(try await phone.recents[group]?.isMarkedUnread == false)
            let asked = server.requests(of: "bob")["heads"] ?? 0
            held.release()
            try await until("marked", [phone]) { try await $0.recents[group]?.isMarkedUnread == true }
            #expect(server.requests(of: "bob")["heads"] == asked + 1)
        }
    }

    /// Reconnects Bob's client, whose transport holds the window of its sync pass.
    private func reconnect(_ held: HeldTransport, to server: TestServer) async throws {
        server.goOffline("bob")
        held.hold()
        server.goOnline("bob")
        #expect(try await eventually { held.heldCount > 0 })
    }

    @Test("A sync pass that two events request at the end of another one runs once")
    func passRequestedTwice() async throws {
        let held = HeldTransport { $0.type == "sync" && $0.members["positions"] == nil }
        try await withGroup(held) { server, _, phone in
            let stored = try await phone.core.store.read { [group] in try $0.log(of: group) }
            let log = try #require(stored)
            try await reconnect(held, to: server)
            let asked = server.requests(of: "bob")["sync"] ?? 0
            held.deliver(ServerEvent.resync(nil).encoded())
            // The client holds this event until the pass ends. It then requests another one, as the first event does.
            held.deliver(ServerEvent.hidden(group, log.epoch, [log.head + 1...log.head + 1]).encoded())
            held.release()
            try await phone.ready()
            #expect(server.requests(of: "bob")["sync"] == asked + 1)
        }
    }

    @Test("A message that another device hides while a client holds more events than it can disappears")
    func hiddenBeyondTheHeldEvents() async throws {
        let held = HeldTransport { $0.type == "sync" && $0.members["positions"] == nil }
        try await withGroup(held) { server, alice, phone in
            let laptop = try await server.client("bob")
            try await laptop.ready()
            let message = try await alice.sendMessages(1...1, in: group)[0]
            try await until("there", [phone, laptop]) { try await $0.recents[group]?.unread == 1 }
            try await reconnect(held, to: server)
            let head = try server.engine.head(of: group, by: bob).state
            let update = HeadUpdate(
                epoch: head.epoch, seq: head.head, countedIndex: head.countedIndex, rev: head.rev)
            let event = ServerEvent.head(group, update).encoded()
            for _ in 1...ResumeState.maximumHeldEvents { held.deliver(event) }
            try await laptop.conversation(group).delete(message.id, for: .me)
            #expect(try await eventually { try await laptop.core.store.read { try $0.outbox().isEmpty } })
            // The client applies this event at once, after it has dropped the one of the hidden message.
            try await laptop.conversation(group).markRead()
            #expect(try await eventually { try await phone.recents[group]?.unread == 0 })
            #expect(try await phone.texts(in: group) == ["1"])
            held.release()
            #expect(try await eventually { try await phone.texts(in: group) == [] })
        }
    }

    @Test("The late answer to a send into a deleted log leaves the new log of its conversation as it is")
    func lateSendKeepsNewLog() async throws {
        let held = HeldTransport { $0.type == "send" }
        let syncs = HeldTransport { $0.type == "sync" && $0.members["positions"] != nil }
        try await withGroup(held, syncs) { server, alice, phone in
            held.hold()
            try await phone.conversation(group).send(.text("lost"))
            #expect(try await eventually { held.heldCount == 1 })
            try await server.delete(group)
            #expect(
                try await eventually { try await phone.core.store.read { [group] in try $0.log(of: group) } == nil })
            try await server.makeGroup("swift", members: ["alice", "bob"])
            try await alice.sendMessages(1...2, in: group)
            #expect(try await eventually { try await phone.texts(in: group) == ["1", "2"] })
            // This answer would repair the log.
            syncs.hold()
            held.release()
            #expect(try await eventually { try await phone.core.store.read { try $0.outbox().isEmpty } })
            #expect(try await phone.texts(in: group) == ["1", "2"])
            syncs.release()
        }
    }

    @Test("A client that becomes active during the handshake reports it to the server")
    func foreground() async throws {
        let server = try TestServer(users: ["bob"])
        let held = HeldTransport(welcome: true)
        let phone = try await server.disconnectedClient("bob") { held.use(in: &$0) }
        held.hold()
        await phone.setActive(false)
        phone.connect()
        #expect(try await eventually { held.heldCount == 1 })
        await phone.setActive(true)
        held.release()
        #expect(try await eventually { server.requests(of: "bob")["activity"] == 1 })
        await server.close()
    }
}
