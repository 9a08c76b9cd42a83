import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSync
import ScrollbackTesting
import ScrollbackWire
import Synchronization
import TestSupport
import Testing

@Suite("Delivery receipts in the client", .timeLimit(.minutes(10)))
struct ClientDeliveryTests {
    private let group = ConversationID.group("swift")

    private func server(_ members: [UserID] = ["alice", "bob"]) async throws -> TestServer {
        let server = try TestServer(users: ["alice", "bob", "carol"])
        try await server.makeGroup("swift", members: members)
        return server
    }

    /// Returns the place of the server through which bob's devices have stored the direct conversation with alice.
    private func delivered(_ server: TestServer) throws -> Seq {
        try server.engine.head(of: .direct("bob"), by: Caller(user: "alice")).peerDeliveredSeq
    }

    private func reports(_ server: TestServer, of user: UserID = "bob") -> Int {
        server.requests(of: user)["delivered"] ?? 0
    }

    @Test("A message shows as delivered once a device of the recipient has stored it, before it is read")
    func directMessage() async throws {
        let server = try await server()
        let alice = try await server.client("alice")
        let laptop = try await server.client("alice")
        let chat = alice.conversation(.direct("bob"))
        let first = try await chat.send(.text("1")).waitUntilSent()
        #expect(try await chat.recent()?.peerDeliveredSeq == 0)
        let bob = try await server.client("bob")
        // A new device does not report what was sent before it.
        let second = try await chat.send(.text("2")).waitUntilSent()
        #expect(second.seq == first.seq + 1)
        let tablet = try await server.client("alice")
        for device in [alice, laptop, tablet] {
            let chat = device.conversation(.direct("bob"))
            #expect(try await eventually { try await chat.recent()?.peerDeliveredSeq == second.seq })
            for await view in chat.timeline().views {
                #expect(view.peerDeliveredSeq == second.seq && view.peerReadSeq == 0)
                break
            }
        }
        #expect(try await bob.conversation(.direct("alice")).recent()?.unread == 2)
        try await bob.conversation(.direct("alice")).markRead()
        #expect(try await eventually { try await chat.recent()?.peerReadSeq == second.seq })
        await server.close()
    }

    @Test("A device that was offline reports many conversations in one request after it has caught up")
    func afterOffline() async throws {
        let server = try await server()
        let names = (1...30).map { Identifier(known: "g\($0)") }
        for name in names { try await server.makeGroup(name, members: ["alice", "bob"]) }
        let (alice, bob) = (try await server.client("alice"), try await server.client("bob"))
        for client in [alice, bob] { try await client.ready() }
        server.goOffline("bob")
        let before = reports(server)
        var sent: [ConversationID: MessageID] = [:]
        for id in names.map({ ConversationID.group($0) }) {
            for _ in 1...3 { sent[id] = try await alice.conversation(id).send(.text("hi")).waitUntilSent().id }
        }
        let direct = try await alice.conversation(.direct("bob")).send(.text("hi")).waitUntilSent()
        #expect(try delivered(server) == 0)
        server.goOnline("bob")
        #expect(try await eventually { try delivered(server) == direct.seq })
        for (id, message) in sent {
            #expect(
                try await eventually {
                    try await alice.conversation(id).recipients(of: message).recipients.map(\.id) == ["bob"]
                })
        }
        #expect((1...5).contains(reports(server) - before))
        await server.close()
    }

    @Test("A report that could not be sent is sent after the next start")
    func restart() async throws {
        let folder = try TemporaryFolder()
        let server = try await server()
        let alice = try await server.client("alice")
        try await alice.conversation(.direct("bob")).send(.text("0"))
        await alice.waitForOutbox()
        let held = HeldTransport(requests: { $0.type == "delivered" })
        let bob = try await server.client("bob", store: .directory(folder.url)) { held.use(in: &$0) }
        try await bob.ready()
        held.hold()
        let sent = try await alice.conversation(.direct("bob")).send(.text("1")).waitUntilSent()
        #expect(try await eventually { held.heldCount == 1 })
        // The report waits until the message is stored.
        let due = try await bob.core.store.read { try $0.dueDeliveries() }
        #expect(due.map(\.conversation) == [.direct("alice")] && due.map(\.position.seq) == [sent.seq])
        #expect(try await bob.texts(in: .direct("alice")).last == "1")
        await bob.close()
        #expect(try delivered(server) == 0)
        let restarted = try await server.client("bob", store: .directory(folder.url))
        #expect(try await eventually { try delivered(server) == sent.seq })
        #expect(
            try await eventually { try await restarted.core.store.read { try $0.dueDeliveries().isEmpty } })
        await server.close()
    }

    @Test("Own messages alone are not reported, whichever device sent them")
    func ownMessages() async throws {
        let server = try await server()
        let alice = try await server.client("alice")
        let (phone, laptop) = (try await server.client("bob"), try await server.client("bob"))
        for client in [alice, phone, laptop] { try await client.ready() }
        try await phone.sendMessages(1...3, in: group)
        try await phone.sendMessages(1...3, in: .direct("alice"))
        for device in [alice, laptop] {
            #expect(try await eventually { try await device.texts(in: group).count == 3 })
        }
        #expect(try await eventually { reports(server, of: "alice") > 0 })
        #expect(reports(server) == 0)
        await server.close()
    }

    @Test("Messages that the user reads at once need no report of their own")
    func readMessages() async throws {
        let held = HeldTransport(requests: { $0.type == "delivered" })
        let server = try await server()
        let (alice, bob) = (try await server.client("alice"), try await server.client("bob") { held.use(in: &$0) })
        for client in [alice, bob] { try await client.ready() }
        held.hold()
        try await alice.sendMessages(1...1, in: group)
        #expect(try await eventually { held.heldCount == 1 })
        try await alice.sendMessages(2...2, in: group)
        #expect(try await eventually { try await bob.texts(in: group).count == 2 })
        #expect(try await bob.core.store.read { try $0.dueDeliveries().map(\.position.seq) } == [2])
        try await bob.conversation(group).markRead()
        #expect(
            try await eventually {
                try await bob.core.store.read { try $0.readState(of: group)?.pendingReadSeq == nil }
            })
        #expect(try await eventually { try await bob.core.store.read { try $0.dueDeliveries().isEmpty } })
        #expect(reports(server) == 0)
        await server.close()
    }

    @Test("A device that keeps its read positions to itself reports nothing")
    func withoutReadState() async throws {
        let server = try await server()
        let (alice, bob) = (
            try await server.client("alice"), try await server.client("bob") { $0.syncsReadState = false }
        )
        for client in [alice, bob] { try await client.ready() }
        try await alice.sendMessages(1...3, in: group)
        try await alice.sendMessages(1...3, in: .direct("bob"))
        #expect(try await eventually { try await bob.texts(in: .direct("alice")).count == 3 })
        #expect(try await eventually { try await bob.texts(in: group).count == 3 })
        #expect(try delivered(server) == 0 && reports(server) == 0)
        await server.close()
    }

    @Test("The recipients of a group message are requested, come with profiles, and are announced by events")
    func groupMessage() async throws {
        let server = try await server(["alice", "bob", "carol"])
        let (alice, bob) = (try await server.client("alice"), try await server.client("bob"))
        for client in [alice, bob] { try await client.ready() }
        let announced = Mutex<[String]>([])
        let events = alice.events
        let following = Task {
            for await event in events {
                guard case .delivered(let id, let user, let seq) = event else { continue }
                announced.withLock { $0.append("\(id) \(user) \(seq)") }
            }
        }
        let chat = alice.conversation(group)
        let sent = try await chat.send(.text("hi")).waitUntilSent()
        #expect(try await eventually { try await chat.recipients(of: sent.id).recipients.map(\.id) == ["bob"] })
        let page = try await chat.recipients(of: sent.id)
        #expect(page.recipients == [MessageRecipient(id: "bob", deliveredSeq: sent.seq)])
        #expect(page.profiles["bob"]?.name == "Bob" && page.next == nil)
        #expect(try await eventually { announced.withLock { $0 } == ["group:swift bob \(sent.seq)"] })
        let error = await #expect(throws: ChatError.self) { try await chat.recipients(of: sent.id, limit: 101) }
        #expect(error?.parameter == "limit")
        try await server.set { $0.people.readReceipts = false }
        let off = await #expect(throws: ChatError.self) { try await chat.recipients(of: sent.id) }
        #expect(off?.code == .featureOff)
        following.cancel()
        await server.close()
    }

    @Test("Nothing is reported from groups with more than 20 members")
    func largeGroup() async throws {
        let names = (1...ReceiptRow.maximumMembers).map { UserID(known: "u\($0)") }
        let server = try await server(["alice", "bob"] + names)
        let (alice, bob) = (try await server.client("alice"), try await server.client("bob"))
        for client in [alice, bob] { try await client.ready() }
        try await alice.sendMessages(1...2, in: group)
        try await alice.sendMessages(1...1, in: .direct("bob"))
        #expect(try await eventually { try await bob.texts(in: group).count == 2 })
        // The report of the direct conversation follows the messages of the group.
        #expect(try await eventually { try delivered(server) == 1 })
        let sent = try #require(try server.messages(in: group).last)
        let error = await #expect(throws: ChatError.self) {
            try await alice.conversation(group).recipients(of: sent.id)
        }
        #expect(error?.code == .featureOff)
        #expect(try await eventually { try await bob.core.store.read { try $0.dueDeliveries().isEmpty } })
        #expect(reports(server) == 1)
        await server.close()
    }
}
