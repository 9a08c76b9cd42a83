import ContractRows
import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import ScrollbackWire
import TestSupport
import Testing

@Suite("Push notifications in the client", .timeLimit(.minutes(10)))
struct PushTests {
    private let group = ConversationID.group("swift")
    private let token = Data([0xAA, 0x01])
    private let other = Data([0xBB, 0x02])

    private func devices(_ server: TestServer, _ user: UserID = "bob") throws -> [PushDevice] {
        try server.engine.pushDevices(of: user, by: Caller(user: user))
    }

    /// Waits until the client's push registration reaches a state.
    private func until(_ state: Push.State, _ client: ChatClient) async {
        for await told in client.push.states where told == state { break }
    }

    // MARK: Registration

    @Test(
        "A push token registered offline survives a restart and is sent with the first connection"
    )
    func offline() async throws {
        let server = try TestServer(users: ["bob"])
        let folder = try TemporaryFolder()
        let first = try await server.disconnectedClient("bob", store: .directory(folder.url))
        await until(.off, first)
        try await first.push.register(.apns(token), language: "de")
        await until(.waiting, first)
        await first.close()
        #expect(try devices(server) == [])
        let second = try await server.client("bob", store: .directory(folder.url))
        await until(.registered, second)
        let device = try #require(try devices(server).first)
        #expect(device.token == "aa01" && device.service == .apns && device.language == "de")
        // The client does not send the registration again.
        await second.close()
        let third = try await server.client("bob", store: .directory(folder.url))
        try await third.ready()
        await until(.registered, third)
        #expect(server.requests(of: "bob")["putPushDevice"] == 1)
        await server.close()
    }

    @Test("A changed push token replaces the earlier one, and registering the same token sends it again")
    func changed() async throws {
        let server = try TestServer(users: ["bob"])
        let bob = try await server.client("bob")
        for token in [token, other, other] {
            try await bob.push.register(.apns(token))
            await until(.registered, bob)
        }
        #expect(try devices(server).map(\.token) == ["bb02"])
        #expect(server.requests(of: "bob")["putPushDevice"] == 3)
        try await bob.push.register(.fcm("t"))
        await until(.registered, bob)
        #expect(try devices(server).map(\.service) == [.fcm])
        await server.close()
    }

    @Test("A client registers again if the server lost its push device")
    func lostRegistrationIsRepeated() async throws {
        let server = try TestServer(users: ["bob"])
        let bob = try await server.client("bob")
        try await bob.push.register(.apns(token))
        await until(.registered, bob)
        let device = try #require(try devices(server).first)
        try await server.perform { engine, completion in
            engine.execute(DeletePushDevice(device: device.id), by: Caller(user: "bob"), completion: completion)
        }
        #expect(try devices(server) == [])
        server.goOffline("bob")
        server.goOnline("bob")
        #expect(try await eventually { try devices(server) == [device] })
        await server.close()
    }

    @Test("A registration is sent again if its answer was lost")
    func lostAnswer() async throws {
        let server = try TestServer(users: ["bob"])
        let held = HeldTransport(answersTo: { $0.type == "putPushDevice" })
        held.hold()
        let bob = try await server.client("bob") { held.use(in: &$0) }
        try await bob.push.register(.apns(token))
        #expect(try await eventually { try devices(server).count == 1 && held.heldCount == 1 })
        await until(.waiting, bob)
        server.goOffline("bob")
        server.goOnline("bob")
        #expect(try await eventually { held.heldCount == 2 })
        held.release()
        await until(.registered, bob)
        await server.close()
    }

    @Test("A refused push registration reports the server's error")
    func refused() async throws {
        let server = try TestServer(users: ["bob"])
        let bob = try await server.client("bob") { configuration in
            guard let transport = configuration.transport else { return }
            configuration.transport = GarblingTransport(transport: transport)
        }
        // The server receives an unknown push service.
        try await bob.push.register(.fcm("t"))
        for await state in bob.push.states {
            guard case .refused(let error) = state else { continue }
            #expect(error.parameter == "service")
            break
        }
        try await bob.push.register(.apns(token))
        await until(.registered, bob)
        await server.close()
    }

    @Test("Unregistering ends the registration at once, or with the next connection")
    func unregisters() async throws {
        let server = try TestServer(users: ["bob"])
        let bob = try await server.client("bob")
        try await bob.push.register(.apns(token))
        await until(.registered, bob)
        try await bob.push.unregister()
        await until(.off, bob)
        #expect(try devices(server) == [])
        try await bob.push.register(.apns(token))
        await until(.registered, bob)
        server.goOffline("bob")
        try await bob.push.unregister()
        #expect(try devices(server).count == 1)
        server.goOnline("bob")
        await until(.off, bob)
        #expect(try devices(server) == [])
        await server.close()
    }

    // MARK: Signing out

    @Test("Signing out ends the push registration, and the next user of the device can register")
    func signOutEndsRegistration() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        let bob = try await server.client("bob")
        try await bob.push.register(.apns(token))
        await until(.registered, bob)
        let report = try await bob.signOut(erasing: true)
        #expect(report.pushError == nil)
        #expect(try devices(server) == [])
        let alice = try await server.client("alice")
        try await alice.push.register(.apns(token))
        await until(.registered, alice)
        #expect(try devices(server, "alice").count == 1)
        await server.close()
    }

    @Test("Signing out reports the messages that are unsent when the client closes, not those that were sent before")
    func signOutReportsFinalState() async throws {
        let sends = HeldTransport(requests: { $0.type == SendMessage.endpoint.frame })
        let removal = HeldTransport(answersTo: { $0.type == DeletePushDevice.endpoint.frame })
        let server = try TestServer(users: ["bob"])
        try await server.makeGroup("swift", members: ["bob"])
        let bob = try await server.client("bob") {
            sends.use(in: &$0)
            removal.use(in: &$0)
        }
        try await bob.push.register(.apns(token))
        await until(.registered, bob)
        let chat = bob.conversation(group)
        sends.hold()
        removal.hold()
        let early = try await chat.send(.text("early"))
        #expect(try await eventually { sends.heldCount == 1 })
        // The client waits for the removal of its registration, and still sends messages.
        let signingOut = Task { try await bob.signOut(erasing: false, within: .seconds(600)) }
        #expect(try await eventually { removal.heldCount == 1 })
        sends.release()
        _ = try await early.waitUntilSent()
        sends.hold()
        try await chat.send(.text("late"))
        removal.release()
        #expect(try await signingOut.value.unsent.map(\.content.text) == ["late"])
        let closed = await #expect(throws: ChatError.self) { try await chat.send(.text("after")) }
        #expect(closed?.code == .closed)
        await server.close()
    }

    @Test("Signing out with erasure deletes all of the client's files")
    func signOutWithErasureDeletesFiles() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        let folder = try TemporaryFolder()
        let bob = try await server.client("bob", store: .directory(folder.url))
        _ = try await bob.conversation(.direct("alice")).send(.text("between the two of us")).waitUntilSent()
        func files() throws -> [URL] {
            let found = FileManager.default.enumerator(at: folder.url, includingPropertiesForKeys: nil)
            return (found?.allObjects as? [URL] ?? []).filter { !$0.hasDirectoryPath }
        }
        let secret = Data("between the two of us".utf8)
        #expect(try files().contains { try Data(contentsOf: $0).range(of: secret) != nil })
        try await bob.signOut(erasing: true)
        #expect(try files() == [])
        await server.close()
    }

    @Test(
        "Signing out offline reports that the server was not reached, and a kept store unregisters later"
    )
    func signOutOffline() async throws {
        let server = try TestServer(users: ["bob"])
        let folder = try TemporaryFolder()
        let bob = try await server.client("bob", store: .directory(folder.url))
        try await bob.push.register(.apns(token))
        await until(.registered, bob)
        server.goOffline("bob")
        let report = try await bob.signOut(erasing: false)
        #expect(report.pushError?.code == .unreachable)
        #expect(try devices(server).count == 1)
        server.goOnline("bob")
        let again = try await server.client("bob", store: .directory(folder.url))
        await until(.off, again)
        #expect(try devices(server) == [])
        // A client without a registration has nothing to unregister.
        server.goOffline("bob")
        #expect(try await again.signOut(erasing: true).pushError == nil)
        await server.close()
    }

    @Test("Signing out a client that never connected reports an error immediately")
    func signOutWithoutConnection() async throws {
        let server = try TestServer(users: ["bob"])
        let bob = try await server.disconnectedClient("bob")
        try await bob.push.register(.apns(token))
        // The error after the timeout of three seconds has another message.
        let error = try await bob.signOut(erasing: true).pushError
        #expect(error?.code == .unreachable && error?.message == "The client is not connected.")
        let closed = await #expect(throws: ChatError.self) { try await bob.push.unregister() }
        #expect(closed?.code == .closed)
        await server.close()
    }

    // MARK: Preferences

    @Test("Push preferences are the same on all clients of a user and independent of other users", .rows(144, 145))
    func preferences() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        let (phone, laptop) = (try await server.client("bob"), try await server.client("bob"))
        let alice = try await server.client("alice")
        #expect(try await laptop.push.preferences() == PushPreferences())
        let hours = try QuietHours(from: .init(hour: 22), to: .init(hour: 7), timeZone: "Asia/Tokyo")
        let wanted = PushPreferences(language: "pt-BR", showsDetail: false, level: .mentions, quietHours: hours)
        #expect(try await phone.push.setPreferences(wanted) == wanted)
        #expect(try await laptop.push.preferences() == wanted)
        #expect(try await alice.push.preferences() == PushPreferences())
        // The call replaces all preferences, so values that are not set are removed.
        #expect(try await laptop.push.setPreferences(PushPreferences(level: NotificationLevel.none)).quietHours == nil)
        #expect(try await phone.push.preferences() == PushPreferences(level: NotificationLevel.none))
        let error = await #expect(throws: ChatError.self) {
            try await phone.push.setPreferences(PushPreferences(language: "?"))
        }
        #expect(error?.parameter == "language")
        server.goOffline("bob")
        let offline = await #expect(throws: ChatError.self) { try await phone.push.preferences() }
        #expect(offline?.code == .unreachable)
        await server.close()
    }

    // MARK: Pushed messages

    /// A server in which Bob is offline and has a registered push device.
    private func away(
        _ configure: (inout ChatClient.Configuration) -> Void = { _ in }
    ) async throws -> (server: TestServer, alice: ChatClient, bob: ChatClient) {
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        try await server.setPush(true)
        let (alice, bob) = (try await server.client("alice"), try await server.client("bob", configure: configure))
        try await bob.push.register(.apns(token))
        await until(.registered, bob)
        for client in [alice, bob] { try await client.ready() }
        server.goOffline("bob")
        return (server, alice, bob)
    }

    @Test("A push payload identifies its message, and a recall sends a push that replaces the notification", .rows(130))
    func pushes() async throws {
        let (server, alice, bob) = try await away()
        let chat = alice.conversation(group)
        let sent = try await chat.send(.text("hello"), push: PushOptions(data: "d")).waitUntilSent()
        let push = try #require(try await server.pushes(to: "bob").first)
        #expect(push.text == "Alice: hello" && push.device.token == "aa01")
        let message = try #require(try PushMessage(json: push.payload))
        #expect(message.kind == .message && message.data == "d" && message.badge == 1)
        let target = try #require(try bob.destination(of: push.payload))
        #expect(target == message.target)
        #expect(target.conversation == group && target.message == sent.id && target.seq == sent.seq)
        #expect(try alice.destination(of: push.payload) == nil)
        try await chat.recall(sent.id)
        await alice.waitForOutbox()
        let recalls = try await server.pushes(to: "bob").dropFirst().map { try PushMessage(json: $0.payload) }
        #expect(recalls.map { $0?.kind } == [.recall] && recalls.first??.target.message == sent.id)
        await server.close()
    }

    @Test(
        "The data of the configuration, or else of the arguments, arrives with a push and only with a push",
        .rows(126, 130))
    func pushData() async throws {
        let (server, alice, _) = try await away()
        let carol = try await server.client("carol")
        try await server.setMember("carol", of: group, true)
        try await carol.push.register(.apns(other))
        await until(.registered, carol)
        let argument = PushOptions(title: "argued", text: "argument", data: "of the argument")
        var configuration = PushOptions(title: "configured")
        for own in ["of the configuration", nil] {
            configuration.data = own
            _ = try await alice.conversation(group).send(
                .text("hello"), push: configuration.withDefaults(from: argument)
            ).waitUntilSent()
        }
        let pushes = try await server.pushes(to: "bob")
        #expect(pushes.map(\.title) == ["configured", "configured"] && pushes.map(\.text) == ["argument", "argument"])
        let payloads = try pushes.map { try JSONSerialization.jsonObject(with: Data($0.payload.utf8)) }
        #expect(
            payloads.map { ($0 as? [String: Any])?["appData"] as? String }
                == ["of the configuration", "of the argument"])
        // Carol is connected.
        #expect(try await server.pushes(to: "carol") == [])
        await server.close()
    }

    @Test("A silent message causes no push, and reaches connected, returning and new devices", .rows(148))
    func silentMessageIsDelivered() async throws {
        let (server, alice, bob) = try await away()
        let carol = try await server.client("carol")
        try await server.setMember("carol", of: group, true)
        try await carol.ready()
        let silent = MessageTraits(notifies: false)
        for id in [group, .direct("bob")] {
            _ = try await alice.conversation(id).send(.text("psst"), traits: silent).waitUntilSent()
        }
        #expect(try await server.pushes(to: "bob") == [])
        #expect(try await eventually { try await carol.texts(in: group) == ["psst"] })
        server.goOnline("bob")
        let new = try await server.client("bob")
        for device in [bob, new] {
            for id in [group, .direct("alice")] {
                let isThere = try await eventually { try await device.recents[id]?.unread == 1 }
                #expect(isThere, "\(id)")
                #expect(try await eventually { try await device.texts(in: id) == ["psst"] })
            }
        }
        // A push of the next message shows that pushes are on.
        server.goOffline("bob")
        _ = try await alice.conversation(group).send(.text("hello")).waitUntilSent()
        #expect(try await server.pushes(to: "bob").map(\.text) == ["Alice: hello"])
        await server.close()
    }

    @Test("Connected users and users who muted a conversation get no push, and a direct push names the peer")
    func pushesAreOnlyForOfflineUsers() async throws {
        let (server, alice, bob) = try await away()
        #expect(try await server.pushes(to: "alice") == [])
        server.goOnline("bob")
        try await bob.ready()
        try await bob.conversation(group).setNotifications(NotificationLevel.none)
        #expect(try await eventually { server.requests(of: "bob")["notifications"] == 1 })
        _ = try await bob.push.preferences()
        server.goOffline("bob")
        _ = try await alice.conversation(group).send(.text("psst")).waitUntilSent()
        _ = try await alice.conversation(.direct("bob")).send(.text("hi")).waitUntilSent()
        let pushes = try await server.pushes(to: "bob")
        #expect(try pushes.map { try bob.destination(of: $0.payload)?.conversation } == [.direct("alice")])
        await server.close()
    }

    // MARK: The inbox

    @Test("A pushed message is requested on connection, and nothing changes locally before the answer")
    func inbox() async throws {
        let folder = try TemporaryFolder()
        let inbox = PushInbox(directory: folder.url)
        let (server, alice, bob) = try await away { $0.pushInbox = inbox }
        let chat = alice.conversation(group)
        let sent = try await chat.send(.text("hello")).waitUntilSent()
        let push = try #require(try await server.pushes(to: "bob").first)
        let before = try await bob.recents.view()
        try inbox.put(#require(try PushMessage(json: push.payload)))
        #expect(try await bob.push.readInbox().messages.map(\.target.seq) == [sent.seq])
        let after = try await bob.recents.view()
        #expect(before.conversations == after.conversations && before.totalUnread == after.totalUnread)
        #expect(try await bob.texts(in: group) == [])
        #expect(try await bob.core.store.read { try $0.pushedConversations() } == [group])
        #expect(server.requests(of: "bob")["heads"] == nil)
        server.goOnline("bob")
        #expect(try await eventually { try await bob.texts(in: group) == ["hello"] })
        #expect(server.requests(of: "bob")["heads"] == 1)
        #expect(try await eventually { try await bob.core.store.read { try $0.pushedConversations() } == [] })
        #expect(try await bob.recents.view().totalUnread == 1)
        #expect(try await bob.verifyIntegrity() == [])
        // The message is already here, so no request is needed.
        try inbox.put(#require(try PushMessage(json: push.payload)))
        try await bob.push.readInbox()
        #expect(try await bob.core.store.read { try $0.pushedConversations() } == [])
        await server.close()
    }

    @Test("A pushed recall is requested if the message is still shown, and not if it is already gone")
    func recall() async throws {
        let folder = try TemporaryFolder()
        let inbox = PushInbox(directory: folder.url)
        let (server, alice, bob) = try await away { $0.pushInbox = inbox }
        let sent = try await alice.conversation(group).send(.text("oops")).waitUntilSent()
        server.goOnline("bob")
        #expect(try await eventually { try await bob.texts(in: group) == ["oops"] })
        server.goOffline("bob")
        try await alice.conversation(group).recall(sent.id)
        await alice.waitForOutbox()
        let target = PushTarget(
            conversation: group, seq: sent.seq, epoch: sent.epoch, message: sent.id, sender: "alice", type: .text,
            receiver: "bob")
        try inbox.put(PushMessage(target: target, kind: .recall))
        try await bob.push.readInbox()
        #expect(try await bob.core.store.read { try $0.pushedConversations() } == [group])
        // The client changes nothing before the server answers.
        #expect(try await bob.texts(in: group) == ["oops"])
        server.goOnline("bob")
        #expect(try await eventually { try await bob.texts(in: group) == [] })
        #expect(try await eventually { try await bob.core.store.read { try $0.pushedConversations() } == [] })
        try inbox.put(PushMessage(target: target, kind: .recall))
        try await bob.push.readInbox()
        #expect(try await bob.core.store.read { try $0.pushedConversations() } == [])
        await server.close()
    }

    @Test("Pushed messages from before a restart are requested after it, even if their conversation is gone")
    func restart() async throws {
        let folder = try TemporaryFolder()
        let inbox = PushInbox(directory: folder.url.appending(path: "inbox"))
        let server = try TestServer(users: ["bob"])
        let first = try await server.disconnectedClient("bob", store: .directory(folder.url)) { $0.pushInbox = inbox }
        let target = PushTarget(
            conversation: .group("gone"), seq: 3, epoch: Epoch(rawValue: 1), message: MessageID(high: 1, low: 1),
            sender: "alice", type: .text, receiver: "bob")
        try inbox.put(PushMessage(target: target))
        try await first.push.readInbox()
        await first.close()
        let second = try await server.client("bob", store: .directory(folder.url))
        #expect(try await eventually { server.requests(of: "bob")["heads"] == 1 })
        #expect(try await eventually { try await second.core.store.read { try $0.pushedConversations() } == [] })
        #expect(try await second.recents.view().conversations.isEmpty)
        await server.close()
    }
}

/// A transport that replaces `fcm` with an unknown service in each frame.
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
