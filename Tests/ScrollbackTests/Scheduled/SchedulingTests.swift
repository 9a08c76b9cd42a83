import Foundation
import ScrollbackModel
import ScrollbackTesting
import ScrollbackWire
import TestSupport
import Testing

@testable import Scrollback

@Suite("Scheduling from a device")
struct SchedulingTests {
    private let group = ConversationID.group("swift")

    @Test("A message that is scheduled offline is stored once after a restart, and arrives at its time")
    func offline() async throws {
        let folder = try TemporaryFolder()
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        var alice = try await server.client("alice", store: .directory(folder.url))
        try await alice.ready()
        server.goOffline("alice")
        let date = server.now.addingTimeInterval(3_600)
        let handle = try await alice.conversation(group).schedule(.text("Happy new year 🎆"), at: date)
        await alice.close()
        alice = try await server.client("alice", store: .directory(folder.url))
        server.goOnline("alice")
        try await alice.conversation(group).sendHandle(for: handle.id).waitForCompletion()
        let listed = try await alice.scheduledMessages().messages
        #expect(listed.map(\.submission.content.text) == ["Happy new year 🎆"])
        #expect(abs(listed[0].sendAt.timeIntervalSince(date)) < 0.001 && listed[0].failure == nil)
        let bob = try await server.client("bob").conversation(group)
        server.advance(by: 3_601)
        #expect(try await eventually { try await bob.recent()?.lastMessage?.text == "Happy new year 🎆" })
        #expect(try await alice.scheduledMessages().messages.isEmpty)
        await server.close()
    }

    @Test("Another device replaces and cancels scheduled messages")
    func otherDevice() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let phone = try await server.client("alice").conversation(group)
        let laptop = try await server.client("alice")
        let date = server.now.addingTimeInterval(60)
        let (first, second) = (
            try await phone.schedule(.text("one"), at: date), try await phone.schedule(.text("two"), at: date)
        )
        try await first.waitForCompletion()
        try await second.waitForCompletion()
        let listed = try await laptop.scheduledMessages(limit: 1)
        #expect(listed.messages.count == 1 && listed.next != nil)
        let ids = try await laptop.scheduledMessages().messages.map(\.submission.id)
        try #require(ids.count == 2)
        try await laptop.conversation(group).schedule(.text("changed"), at: date, replacing: ids[0])
            .waitForCompletion()
        try await laptop.cancelScheduledMessage(ids[1])
        let error = await #expect(throws: ChatError.self) { try await laptop.cancelScheduledMessage(ids[1]) }
        #expect(error?.code == .unknownMessage)
        server.advance(by: 60)
        #expect(try await eventually { try await phone.recent()?.lastMessage?.text == "changed" })
        await server.close()
    }

    @Test("A device that never received the answer to its request does not undo a replacement")
    func retryAfterReplacement() async throws {
        let server = try TestServer(users: ["alice"])
        try await server.makeGroup("swift", members: ["alice"])
        let held = HeldTransport { $0.type == "schedule" }
        let phone = try await server.client("alice") { held.use(in: &$0) }
        let laptop = try await server.client("alice")
        let date = server.now.addingTimeInterval(60)
        held.hold()
        let first = try await phone.conversation(group).schedule(.text("one"), at: date)
        let id = try await eventually("The server has the message") {
            try await laptop.scheduledMessages().messages.first?.submission.id
        }
        try await laptop.conversation(group).schedule(.text("changed"), at: date, replacing: id).waitForCompletion()
        server.goOffline("alice")
        server.goOnline("alice")
        held.release()
        try await first.waitForCompletion()
        let listed = try await laptop.scheduledMessages().messages
        #expect(listed.map(\.submission.content.text) == ["changed"])
        await server.close()
    }

    @Test("With a cipher, the server stores no readable scheduled message")
    func encrypted() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let cipher = try MessageCipher(keys: [.init(id: "a", key: Data(repeating: 7, count: 32))])
        let alice = try await server.client("alice") { $0.cipher = cipher }
        let bob = try await server.client("bob") { $0.cipher = cipher }.conversation(group)
        let without = try await server.client("alice")
        try await alice.conversation(group).schedule(.text("a secret"), at: server.now.addingTimeInterval(60))
            .waitForCompletion()
        #expect(try await alice.scheduledMessages().messages.first?.submission.content.text == "a secret")
        #expect(try await without.scheduledMessages().messages.first?.submission.content.text == nil)
        server.advance(by: 60)
        #expect(try await eventually { try await bob.recent()?.lastMessage?.text == "a secret" })
        await server.close()
    }
}
