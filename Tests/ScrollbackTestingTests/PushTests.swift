import ContractRows
import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import ScrollbackWire
import Testing

@Suite("Push on a device", .timeLimit(.minutes(10)))
struct PushTests {
    private let group = ConversationID.group("swift")
    private let token = Data([0xAA, 0x01])
    private let other = Data([0xBB, 0x02])

    private func folder() -> URL {
        FileManager.default.temporaryDirectory.appending(path: "scrollback-push-\(UUID().uuidString)")
    }

    private func devices(_ world: ChatWorld, _ user: UserID = "bob") throws -> [PushDevice] {
        try world.engine.pushDevices(of: user, by: Caller(user: user))
    }

    /// Waits until a client says how it stands.
    private func until(_ state: Push.State, _ client: ChatClient) async {
        for await told in client.push.states where told == state { break }
    }

    // MARK: Registering

    @Test(
        "A token that is registered before there is a connection is kept, also over a restart, and told with the first one"
    )
    func offline() async throws {
        let world = try ChatWorld(users: ["bob"])
        let folder = folder()
        let first = try await world.disconnectedClient("bob", store: .directory(folder))
        await until(.off, first)
        try await first.push.register(.apns(token), language: "de")
        await until(.waiting, first)
        await first.close()
        #expect(try devices(world) == [])
        let second = try await world.client("bob", store: .directory(folder))
        await until(.registered, second)
        let device = try #require(try devices(world).first)
        #expect(device.token == "aa01" && device.service == .apns && device.language == "de")
        // Nobody tells it again.
        await second.close()
        let third = try await world.client("bob", store: .directory(folder))
        try await third.ready()
        await until(.registered, third)
        #expect(world.requests(of: "bob")["putPushDevice"] == 1)
        await world.close()
    }

    @Test("A changed token takes the place of the earlier one; registering the same again tells it again")
    func changed() async throws {
        let world = try ChatWorld(users: ["bob"])
        let bob = try await world.client("bob")
        for token in [token, other, other] {
            try await bob.push.register(.apns(token))
            await until(.registered, bob)
        }
        #expect(try devices(world).map(\.token) == ["bb02"])
        #expect(world.requests(of: "bob")["putPushDevice"] == 3)
        try await bob.push.register(.fcm("t"))
        await until(.registered, bob)
        #expect(try devices(world).map(\.service) == [.fcm])
        await world.close()
    }

    @Test("A server that lost a device has it again with the next connection")
    func lost() async throws {
        let world = try ChatWorld(users: ["bob"])
        let bob = try await world.client("bob")
        try await bob.push.register(.apns(token))
        await until(.registered, bob)
        let device = try #require(try devices(world).first)
        try await world.perform { engine, completion in
            engine.dropPushDevice(device.id, of: "bob", by: Caller(user: "bob"), completion: completion)
        }
        #expect(try devices(world) == [])
        world.goOffline("bob")
        world.goOnline("bob")
        #expect(try await eventually { try devices(world) == [device] })
        await world.close()
    }

    @Test("An answer that never came is asked for again")
    func lostAnswer() async throws {
        let world = try ChatWorld(users: ["bob"])
        let held = HeldTransport(answersTo: { request in
            if case .push(let operation) = request, case .putDevice = operation { return true }
            return false
        })
        held.hold()
        let bob = try await world.client("bob") { held.use(in: &$0) }
        try await bob.push.register(.apns(token))
        #expect(try await eventually { try devices(world).count == 1 && held.heldCount == 1 })
        await until(.waiting, bob)
        world.goOffline("bob")
        world.goOnline("bob")
        #expect(try await eventually { held.heldCount == 2 })
        held.release()
        await until(.registered, bob)
        await world.close()
    }

    @Test("What the server refuses is said")
    func refused() async throws {
        let world = try ChatWorld(users: ["bob"])
        let bob = try await world.client("bob") { configuration in
            guard let transport = configuration.transport else { return }
            configuration.transport = GarblingTransport(transport: transport)
        }
        // What reaches the server is no service.
        try await bob.push.register(.fcm("t"))
        for await state in bob.push.states {
            guard case .refused(let error) = state else { continue }
            #expect(error.parameter == "service")
            break
        }
        try await bob.push.register(.apns(token))
        await until(.registered, bob)
        await world.close()
    }

    @Test("Unregistering ends it, at once or with the next connection")
    func unregisters() async throws {
        let world = try ChatWorld(users: ["bob"])
        let bob = try await world.client("bob")
        try await bob.push.register(.apns(token))
        await until(.registered, bob)
        try await bob.push.unregister()
        await until(.off, bob)
        #expect(try devices(world) == [])
        try await bob.push.register(.apns(token))
        await until(.registered, bob)
        world.goOffline("bob")
        try await bob.push.unregister()
        #expect(try devices(world).count == 1)
        world.goOnline("bob")
        await until(.off, bob)
        #expect(try devices(world) == [])
        await world.close()
    }

    // MARK: Signing out

    @Test("Signing out ends pushes, and a user who signs in on the device has them")
    func signsOut() async throws {
        let world = try ChatWorld(users: ["alice", "bob"])
        let bob = try await world.client("bob")
        try await bob.push.register(.apns(token))
        await until(.registered, bob)
        let report = try await bob.signOut(erasing: true)
        #expect(report.pushError == nil)
        #expect(try devices(world) == [])
        let alice = try await world.client("alice")
        try await alice.push.register(.apns(token))
        await until(.registered, alice)
        #expect(try devices(world, "alice").count == 1)
        await world.close()
    }

    @Test("Signing out for good leaves nothing of what the device had in its folder, where all of it was")
    func signsOutForGood() async throws {
        let world = try ChatWorld(users: ["alice", "bob"])
        let folder = folder()
        let bob = try await world.client("bob", store: .directory(folder))
        _ = try await bob.conversation(.direct("alice")).send(.text("between the two of us")).delivered()
        func files() throws -> [URL] {
            let found = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
            return (found?.allObjects as? [URL] ?? []).filter { !$0.hasDirectoryPath }
        }
        let said = Data("between the two of us".utf8)
        #expect(try files().contains { try Data(contentsOf: $0).range(of: said) != nil })
        try await bob.signOut(erasing: true)
        #expect(try files() == [])
        await world.close()
    }

    @Test(
        "Signed out without a connection, it is said that the server does not know; a store that is kept tells it later"
    )
    func signsOutOffline() async throws {
        let world = try ChatWorld(users: ["bob"])
        let folder = folder()
        let bob = try await world.client("bob", store: .directory(folder))
        try await bob.push.register(.apns(token))
        await until(.registered, bob)
        world.goOffline("bob")
        let report = try await bob.signOut(erasing: false)
        #expect(report.pushError?.code == .unreachable)
        #expect(try devices(world).count == 1)
        world.goOnline("bob")
        let again = try await world.client("bob", store: .directory(folder))
        await until(.off, again)
        #expect(try devices(world) == [])
        // Who never registered has nothing to end.
        world.goOffline("bob")
        #expect(try await again.signOut(erasing: true).pushError == nil)
        await world.close()
    }

    @Test("A client that never connected says at once that it could not tell")
    func signsOutUnconnected() async throws {
        let world = try ChatWorld(users: ["bob"])
        let bob = try await world.disconnectedClient("bob")
        try await bob.push.register(.apns(token))
        // What is said after the wait of three seconds has another reason.
        let error = try await bob.signOut(erasing: true).pushError
        #expect(error?.code == .unreachable && error?.message == "the client is not connected")
        let closed = await #expect(throws: ChatError.self) { try await bob.push.unregister() }
        #expect(closed?.code == .closed)
        await world.close()
    }

    // MARK: Preferences

    @Test("How somebody wants to be told is the same on all their devices, and nobody else's", .rows(144, 145))
    func preferences() async throws {
        let world = try ChatWorld(users: ["alice", "bob"])
        let (phone, laptop) = (try await world.client("bob"), try await world.client("bob"))
        let alice = try await world.client("alice")
        #expect(try await laptop.push.preferences() == PushPreferences())
        let hours = try QuietHours(from: .init(hour: 22), to: .init(hour: 7), timeZone: "Asia/Tokyo")
        let wanted = PushPreferences(language: "pt-BR", showsDetail: false, level: .mentions, quietHours: hours)
        #expect(try await phone.push.setPreferences(wanted) == wanted)
        #expect(try await laptop.push.preferences() == wanted)
        #expect(try await alice.push.preferences() == PushPreferences())
        // All of it: what is not said is taken back.
        #expect(try await laptop.push.setPreferences(PushPreferences(level: NotificationLevel.none)).quietHours == nil)
        #expect(try await phone.push.preferences() == PushPreferences(level: NotificationLevel.none))
        let error = await #expect(throws: ChatError.self) {
            try await phone.push.setPreferences(PushPreferences(language: "?"))
        }
        #expect(error?.parameter == "language")
        world.goOffline("bob")
        let offline = await #expect(throws: ChatError.self) { try await phone.push.preferences() }
        #expect(offline?.code == .unreachable)
        await world.close()
    }

    // MARK: What is pushed

    /// Bob, who is away and has registered.
    private func away(
        _ configure: (inout ChatClient.Configuration) -> Void = { _ in }
    ) async throws -> (world: ChatWorld, alice: ChatClient, bob: ChatClient) {
        let world = try ChatWorld(users: ["alice", "bob"])
        try await world.makeGroup("swift", members: ["alice", "bob"])
        try await world.setPush(true)
        let (alice, bob) = (try await world.client("alice"), try await world.client("bob", configure: configure))
        try await bob.push.register(.apns(token))
        await until(.registered, bob)
        for client in [alice, bob] { try await client.ready() }
        world.goOffline("bob")
        return (world, alice, bob)
    }

    @Test("What is pushed leads back to the message, and a recall takes its notification's place", .rows(130))
    func pushes() async throws {
        let (world, alice, bob) = try await away()
        let chat = alice.conversation(group)
        let sent = try await chat.send(.text("hello"), push: PushOptions(data: "d")).delivered()
        let push = try #require(try await world.pushes(to: "bob").first)
        #expect(push.text == "Alice: hello" && push.device.token == "aa01")
        let message = try #require(try PushMessage(json: push.payload))
        #expect(message.kind == .message && message.data == "d" && message.badge == 1)
        let place = try #require(try bob.destination(of: push.payload))
        #expect(place == message.place)
        #expect(place.conversation == group && place.message == sent.id && place.seq == sent.seq)
        #expect(try alice.destination(of: push.payload) == nil)
        try await chat.recall(sent.id)
        await alice.flushed()
        let recalls = try await world.pushes(to: "bob").dropFirst().map { try PushMessage(json: $0.payload) }
        #expect(recalls.map { $0?.kind } == [.recall] && recalls.first??.place.message == sent.id)
        await world.close()
    }

    @Test("Who is there, and who asked for quiet, is pushed nothing; a direct message leads to the other person")
    func nothing() async throws {
        let (world, alice, bob) = try await away()
        #expect(try await world.pushes(to: "alice") == [])
        world.goOnline("bob")
        try await bob.ready()
        try await bob.conversation(group).setNotifications(NotificationLevel.none)
        #expect(try await eventually { world.requests(of: "bob")["notifications"] == 1 })
        _ = try await bob.push.preferences()
        world.goOffline("bob")
        _ = try await alice.conversation(group).send(.text("psst")).delivered()
        _ = try await alice.conversation(.direct("bob")).send(.text("hi")).delivered()
        let pushes = try await world.pushes(to: "bob")
        #expect(try pushes.map { try bob.destination(of: $0.payload)?.conversation } == [.direct("alice")])
        await world.close()
    }

    // MARK: The inbox

    @Test("What an extension put in is asked about first, and nothing is made of it until the server has answered")
    func inbox() async throws {
        let inbox = PushInbox(directory: folder())
        let (world, alice, bob) = try await away { $0.pushInbox = inbox }
        let chat = alice.conversation(group)
        let sent = try await chat.send(.text("hello")).delivered()
        let push = try #require(try await world.pushes(to: "bob").first)
        let before = try await bob.recents.view()
        try inbox.put(#require(try PushMessage(json: push.payload)))
        #expect(try await bob.push.readInbox().messages.map(\.place.seq) == [sent.seq])
        let after = try await bob.recents.view()
        #expect(before.conversations == after.conversations && before.totalUnread == after.totalUnread)
        #expect(try await bob.texts(in: group) == [])
        #expect(try await bob.core.store.read { try $0.pushedConversations() } == [group])
        #expect(world.requests(of: "bob")["heads"] == nil)
        world.goOnline("bob")
        #expect(try await eventually { try await bob.texts(in: group) == ["hello"] })
        #expect(world.requests(of: "bob")["heads"] == 1)
        #expect(try await eventually { try await bob.core.store.read { try $0.pushedConversations() } == [] })
        #expect(try await bob.recents.view().totalUnread == 1)
        #expect(try await bob.verifyIntegrity() == [])
        // It is here: no reason to ask.
        try inbox.put(#require(try PushMessage(json: push.payload)))
        try await bob.push.readInbox()
        #expect(try await bob.core.store.read { try $0.pushedConversations() } == [])
        await world.close()
    }

    @Test("A recall that was handed over is asked about where the message is shown, and not where it is gone")
    func recall() async throws {
        let inbox = PushInbox(directory: folder())
        let (world, alice, bob) = try await away { $0.pushInbox = inbox }
        let sent = try await alice.conversation(group).send(.text("oops")).delivered()
        world.goOnline("bob")
        #expect(try await eventually { try await bob.texts(in: group) == ["oops"] })
        world.goOffline("bob")
        try await alice.conversation(group).recall(sent.id)
        await alice.flushed()
        let place = PushPlace(
            conversation: group, seq: sent.seq, epoch: sent.epoch, message: sent.id, sender: "alice", type: .text,
            receiver: "bob")
        try inbox.put(PushMessage(place: place, kind: .recall))
        try await bob.push.readInbox()
        #expect(try await bob.core.store.read { try $0.pushedConversations() } == [group])
        // What the server has not said is not shown.
        #expect(try await bob.texts(in: group) == ["oops"])
        world.goOnline("bob")
        #expect(try await eventually { try await bob.texts(in: group) == [] })
        #expect(try await eventually { try await bob.core.store.read { try $0.pushedConversations() } == [] })
        try inbox.put(PushMessage(place: place, kind: .recall))
        try await bob.push.readInbox()
        #expect(try await bob.core.store.read { try $0.pushedConversations() } == [])
        await world.close()
    }

    @Test("What was handed over before a restart is asked about after it, also of a conversation that is gone")
    func restart() async throws {
        let (folder, inbox) = (folder(), PushInbox(directory: folder()))
        let world = try ChatWorld(users: ["bob"])
        let first = try await world.disconnectedClient("bob", store: .directory(folder)) { $0.pushInbox = inbox }
        let place = PushPlace(
            conversation: .group("gone"), seq: 3, epoch: Epoch(rawValue: 1), message: MessageID(high: 1, low: 1),
            sender: "alice", type: .text, receiver: "bob")
        try inbox.put(PushMessage(place: place))
        try await first.push.readInbox()
        await first.close()
        let second = try await world.client("bob", store: .directory(folder))
        #expect(try await eventually { world.requests(of: "bob")["heads"] == 1 })
        #expect(try await eventually { try await second.core.store.read { try $0.pushedConversations() } == [] })
        #expect(try await second.recents.view().conversations.isEmpty)
        await world.close()
    }
}

/// A way to the server on which `fcm` becomes something else.
private struct GarblingTransport: Transport {
    let transport: any Transport

    func open(
        _ url: URL, events: @escaping @Sendable (TransportEvent) -> Void
    ) async throws(ChatError) -> any TransportConnection {
        Connection(try await transport.open(url, events: events))
    }

    private final class Connection: TransportConnection {
        let connection: any TransportConnection

        init(_ connection: any TransportConnection) { self.connection = connection }

        func send(_ frame: [UInt8]) {
            let text = String(decoding: frame, as: UTF8.self).replacing(#""fcm""#, with: #""pigeon""#)
            connection.send(Array(text.utf8))
        }

        func close() { connection.close() }
    }
}
