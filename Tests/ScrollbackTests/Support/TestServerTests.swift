import ContractRows
import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import Synchronization
import TestSupport
import Testing

@Suite("Clients on a simulated network")
struct TestServerTests {
    @Test("A message reaches the recipient and all of the sender's clients")
    func messageReachesAllClients() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        let phone = try await server.client("alice")
        let laptop = try await server.client("alice")
        let bob = try await server.client("bob")

        let sent = try await phone.conversation(.direct("bob")).send(.text("hello")).waitUntilSent()
        #expect(sent.seq == 1)
        #expect(try await eventually { try await bob.texts(in: .direct("alice")) == ["hello"] })
        #expect(try await eventually { try await laptop.texts(in: .direct("bob")) == ["hello"] })
        #expect(try await eventually { try await bob.recents.view().totalUnread == 1 })
        #expect(try await phone.recents.view().totalUnread == 0)

        try await bob.conversation(.direct("alice")).markRead()
        #expect(try await bob.recents.view().totalUnread == 0)
        await server.close()
    }

    @Test(
        "A sequence number outside the log returns the messages on the other side of it", arguments: [0, Int64.max])
    func sequenceNumbersOutsideTheLog(_ seq: Int64) async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice"])
        let chat = try await server.client("alice").conversation(.group("swift"))
        for number in 1...3 { _ = try await chat.send(.text("\(number)")).waitUntilSent() }
        let isAbove = seq > 0
        let below = try await chat.history(.before(.seq(seq)), from: .local)
        #expect(below.messages.map(\.seq) == (isAbove ? [3, 2, 1] : []))
        let above = try await chat.history(.after(.seq(seq)), from: .local)
        #expect(above.messages.map(\.seq) == (isAbove ? [] : [3, 2, 1]))
        await server.close()
    }

    @Test("An own message sent after reconnecting does not mark missed messages as read", .history(13))
    func ownMessageMarksNothingAsRead() async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let alice = try await server.client("alice")
        let other = try await server.client("alice")
        let bob = try await server.client("bob")
        let group = ConversationID.group("swift")
        _ = try await bob.conversation(group).send(.text("first")).waitUntilSent()
        #expect(try await eventually { try await alice.texts(in: group) == ["first"] })
        try await alice.conversation(group).markRead()
        #expect(try await eventually { try await other.conversation(group).recent()?.unread == 0 })

        server.goOffline("alice")
        let queued = try await alice.conversation(group).send(.text("ok"))
        for number in 1...50 {
            try await bob.conversation(group).send(
                .text("message \(number)"), mentioning: number == 25 ? .users(["alice"]) : nil)
        }
        await bob.waitForOutbox()
        server.goOnline("alice")
        #expect(try await queued.waitUntilSent().seq == 52)
        for device in [alice, other] {
            #expect(try await eventually { try await device.conversation(group).recent()?.unread == 50 })
            #expect(try await eventually { try await device.conversation(group).recent()?.mentions == 1 })
        }
        try await other.conversation(group).markRead()
        #expect(try await eventually { try await alice.conversation(group).recent()?.unread == 0 })
        for device in [alice, other, bob] { #expect(try await device.verifyIntegrity() == []) }
        await server.close()
    }

    @Test("A message that is not stored completes when the server accepts it", .timeLimit(.minutes(10)))
    func unstoredMessageCompletes() async throws {
        let server = try TestServer()
        let alice = try await server.client("alice")
        let chat = alice.conversation(.direct("bob"))
        _ = try await chat.send(.text("kept")).waitUntilSent()
        let sending = try await chat.send(.text("now only"), traits: .init(isStored: false))
        #expect(await #expect(throws: ChatError.self) { try await sending.waitUntilSent() }?.code == .cancelled)
        try await chat.send(.text("again"), traits: .init(isStored: false))
        await alice.waitForOutbox()
        #expect(try server.messages(in: .direct(between: "alice", and: "bob")).map(\.text) == ["kept"])
        await server.close()
    }

    @Test("A client connects again although its clock does not reach the time")
    func clockStandsStill() async throws {
        let server = try TestServer()
        let attempts = Mutex(0)
        let time = Date()
        let alice = try await server.disconnectedClient("alice") {
            $0.clock = { time }
            $0.token = {
                attempts.withLock { $0 += 1 }
                throw ChatError(.unreachable, "The app has no token.")
            }
        }
        alice.connect()
        #expect(try await eventually { attempts.withLock { $0 } >= 2 })
        await server.close()
    }

    @Test("A lost acknowledgement does not duplicate the message")
    func lostAcknowledgement() async throws {
        let server = try TestServer()
        let alice = try await server.client("alice")
        _ = try await alice.conversation(.direct("bob")).send(.text("one")).waitUntilSent()
        server.loseNextAcknowledgement(of: "alice")
        let sending = try await alice.conversation(.direct("bob")).send(.text("two"))
        #expect(try await sending.waitUntilSent().seq == 2)
        #expect(try server.messages(in: .direct(between: "alice", and: "bob")).map(\.text) == ["one", "two"])
        #expect(try await alice.texts(in: .direct("bob")) == ["one", "two"])
        await server.close()
    }

    @Test("A retry returns the stored message with the changes that were made before the client knew its conversation")
    func retryReturnsTheStoredMessage() async throws {
        let server = try TestServer()
        let phone = try await server.disconnectedClient("alice")
        let sending = try await phone.conversation(.direct("bob")).send(.text("one"))
        // The first attempt reaches the server, but its answer is lost.
        let submission = try #require(try await phone.core.store.read { try $0.pending(sending.id) }?.submission)
        let alice = Caller(user: "alice")
        try await server.perform { engine, done in
            engine.send(submission, to: .direct("bob"), by: alice, completion: done)
        }
        let bob = try await server.client("bob")
        let chat = bob.conversation(.direct("alice"))
        _ = try await chat.react("👍", to: sending.id).waitForCompletion()
        _ = try await chat.send(.text("two")).waitUntilSent()
        // The client receives the conversation's head before it retries.
        let heads = try server.engine.recents(limit: 10, by: alice).heads
        try await phone.core.apply(heads.map { .head($0) })
        phone.connect()
        let sent = try await sending.waitUntilSent()
        #expect(sent.seq == 1 && sent.rev == 1)
        #expect(try await phone.texts(in: .direct("bob")) == ["one", "two"])
        #expect(try await phone.verifyIntegrity() == [])
        await server.close()
    }
}

extension ChatClient {
    /// The texts of a conversation in the local store, oldest first.
    func texts(in id: ConversationID) async throws -> [String] {
        try await conversation(id).history(.earliest, limit: 100, sort: .oldestFirst, from: .local).messages
            .compactMap(\.text)
    }
}
