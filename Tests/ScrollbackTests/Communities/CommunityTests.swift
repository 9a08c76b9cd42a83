import ContractRows
import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import TestSupport
import Testing

/// Tests what an app sees of communities: channels, private channels, and clearing.
@Suite("Communities in the client", .timeLimit(.minutes(10)))
struct CommunityTests {
    private let city = ConversationID.community("city")
    private let open = ConversationID.community("city", channel: "open")
    private let secret = ConversationID.community("city", channel: "secret")

    /// Creates a community of Alice, Bob and Carol with the channel `open`.
    private func server(_ channels: [Identifier] = ["open"]) async throws -> TestServer {
        let server = try TestServer(users: ["alice", "bob", "carol"])
        try await server.makeCommunity("city", channels: channels, members: ["alice", "bob", "carol"])
        return server
    }

    /// Creates a private channel of Carol in the community.
    private func makeSecretChannel(_ server: TestServer) async throws {
        try await server.perform { [secret] in
            $0.putConversation(
                secret, ConversationSettings(isPrivate: true, members: ["carol"]),
                by: Caller(user: "admin", isAdmin: true), completion: $1)
        }
    }

    private func live(_ subscription: Conversation.Subscription) async {
        for await state in subscription.states where state == .live { break }
    }

    // MARK: The channel of messages without a channel

    @Test("Messages without a channel are received, muted, listed and cleared apart from the other channels", .rows(5))
    func withoutChannel() async throws {
        let server = try await server()
        let (alice, bob) = (try await server.client("alice"), try await server.client("bob"))
        let subscriptions = [bob.conversation(city).subscribe(), bob.conversation(open).subscribe()]
        for subscription in subscriptions { await live(subscription) }
        let events = bob.events
        for place in [city, open] { _ = try await alice.conversation(place).send(.text("to \(place)")).waitUntilSent() }
        var received: [ConversationID: String?] = [:]
        for await event in events {
            guard case .message(let message) = event else { continue }
            received[message.conversation] = message.text
            if received.count == 2 { break }
        }
        #expect(received == [city.logID: "to community:city", open: "to community:city/open"])

        try await bob.conversation(city).setMuted(true)
        let laptop = try await server.client("bob")
        for device in [bob, laptop] {
            try await until("only the channel without a name is muted", [device]) {
                let list = try await $0.recents.view()
                return list.conversations.filter(\.isMuted).map(\.id) == [city.logID] && list.conversations.count == 2
                    && list.totals.unread(muted: true) == 1 && list.totals.unread(muted: false) == 1
            }
        }
        _ = try await bob.conversation(city).clear().waitForCompletion()
        try await until("cleared", [bob, laptop]) {
            let cleared = try await $0.conversation(city).history(from: .remote).messages
            let kept = try await $0.conversation(open).history(from: .remote).messages
            return cleared.isEmpty && kept.map(\.text) == ["to community:city/open"]
        }
        await server.close()
    }

    // MARK: Messages that do not update recents

    @Test("A channel message that does not update recents counts as unread and leaves the entry unchanged", .rows(81))
    func updatesRecents() async throws {
        let server = try await server(["open", "other"])
        let other = ConversationID.community("city", channel: "other")
        let alice = try await server.client("alice")
        // Bob receives the messages, and Carol the heads of the channel.
        let (bob, carol) = (try await server.client("bob"), try await server.client("carol"))
        let subscription = bob.conversation(open).subscribe()
        await live(subscription)
        _ = try await alice.conversation(open).send(.text("said")).waitUntilSent()
        _ = try await alice.conversation(other).send(.text("later")).waitUntilSent()
        for device in [bob, carol] {
            #expect(
                try await eventually { try await device.recents.view().conversations.map(\.id) == [other, open] })
        }
        for number in 1...3 {
            let quiet = MessageTraits(updatesRecents: false)
            _ = try await alice.conversation(open).send(.text("bot \(number)"), traits: quiet).waitUntilSent()
        }
        let new = try await server.client("carol")
        try await until("an unchanged entry", [bob, carol, new]) { device in
            let list = try await device.recents.view().conversations
            return list.map(\.id) == [other, open] && list.map { $0.lastMessage?.text } == ["later", "said"]
                && list.map(\.unread) == [1, 4]
        }
        _ = try await alice.conversation(open).send(.text("again")).waitUntilSent()
        try await until("moved up by the next message", [bob, carol, new]) { device in
            let list = try await device.recents.view().conversations
            return list.map(\.id) == [open, other] && list.first?.lastMessage?.text == "again"
                && list.first?.unread == 5
        }
        withExtendedLifetime(subscription) {}
        await server.close()
    }

    // MARK: Private channels

    @Test(
        "A message to a private channel fails for other members of the community, and is sent after they join",
        .rows(89))
    func messageToPrivateChannel() async throws {
        let server = try await server()
        try await makeSecretChannel(server)
        let (alice, carol) = (try await server.client("alice"), try await server.client("carol"))
        let chat = alice.conversation(secret)
        let sending = try await chat.send(.text("let me in"))
        let error = try await #require(throws: ChatError.self) { try await sending.waitUntilSent() }
        #expect(error.code == .unknownConversation)
        #expect(try server.messages(in: secret).isEmpty)
        // The sender still has the failed message, which is neither part of the history nor listed.
        for await view in chat.timeline(at: .latest).views {
            guard case .pending(let pending)? = view.items.first else { continue }
            #expect(pending.id == sending.id && pending.state == .failed(error))
            #expect(view.items.count == 1)
            break
        }
        #expect(try await chat.history(from: .local).messages.isEmpty)
        #expect(try await alice.recents.view().conversations.isEmpty)
        #expect(try await alice.recents[secret] == nil)
        #expect(try await carol.recents.view().conversations.isEmpty)
        try await server.setMember("alice", of: secret, true)
        try await sending.retry()
        #expect(try await sending.waitUntilSent().id == sending.id)
        #expect(try await eventually { try await carol.recents[secret]?.lastMessage?.text == "let me in" })
        await server.close()
    }

    // MARK: Clearing

    @Test(
        "Clearing includes its last message, keeps later messages, and applies to all devices of one user",
        .rows(69), arguments: [ConversationID.community("city", channel: "open"), .group("swift"), .direct("bob")])
    func clearing(_ id: ConversationID) async throws {
        let server = try await server()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let (alice, bob) = (try await server.client("alice"), try await server.client("bob"))
        let sent = try await alice.sendMessages(1...5, in: id)
        let other = id == .direct("bob") ? ConversationID.direct("alice") : id
        try await alice.conversation(id).clear(through: sent[2].id).waitForCompletion()
        func remote(_ device: ChatClient, _ id: ConversationID) async throws -> [String?] {
            try await device.conversation(id).history(.earliest, sort: .oldestFirst, from: .remote).messages.map(\.text)
        }
        var new = try await server.client("alice")
        for device in [alice, new] { #expect(try await remote(device, id) == ["4", "5"]) }
        #expect(try await remote(bob, other) == ["1", "2", "3", "4", "5"])
        // Without a message, everything up to the last message is cleared, and later messages stay.
        try await alice.conversation(id).clear().waitForCompletion()
        for device in [alice, new] { #expect(try await remote(device, id) == []) }
        _ = try await bob.conversation(other).send(.text("later")).waitUntilSent()
        new = try await server.client("alice")
        for device in [alice, new] { #expect(try await remote(device, id) == ["later"]) }
        #expect(try await remote(bob, other) == ["1", "2", "3", "4", "5", "later"])
        await server.close()
    }

    // MARK: Errors

    @Test("Each refusal in a community has the documented code", .rows(67))
    func refusals() async throws {
        let server = try await server()
        try await makeSecretChannel(server)
        let (alice, bob) = (try await server.client("alice"), try await server.client("bob"))
        func code(_ body: () async throws -> Void) async -> ChatError.Code? {
            let error = await #expect(throws: ChatError.self) { try await body() }
            #expect(error?.message.isEmpty == false)
            return error?.code
        }
        func send(_ client: ChatClient, _ id: ConversationID) async -> ChatError.Code? {
            await code { _ = try await client.conversation(id).send(.text("hi")).waitUntilSent() }
        }
        func read(_ client: ChatClient, _ id: ConversationID) async -> ChatError.Code? {
            await code { _ = try await client.conversation(id).history(from: .remote) }
        }
        // A user who never was a member, a community and a channel that don't exist, and a private channel.
        let mallory = try await server.client("mallory")
        let nowhere = ConversationID.community("nowhere", channel: "open")
        let missing = ConversationID.community("city", channel: "missing")
        for (client, id) in [(mallory, open), (alice, nowhere), (alice, missing), (alice, secret)] {
            #expect(await send(client, id) == .unknownConversation, "\(id)")
            #expect(await read(client, id) == .unknownConversation, "\(id)")
        }
        // Muted in the channel, and in the whole community.
        for place in [open, city] {
            try await server.mute("bob", .forever, in: place)
            #expect(await send(bob, open) == .muted, "\(place)")
            try await server.mute("bob", nil, in: place)
        }
        // A former member of a private channel, and of the community.
        try await server.setMember("alice", of: secret, true)
        _ = try await alice.conversation(secret).send(.text("in")).waitUntilSent()
        try await server.setMember("alice", of: secret, false)
        #expect(await send(alice, secret) == .notMember)
        try await server.setMember("alice", of: city, false)
        #expect(await send(alice, open) == .notMember)
        // Arguments, and the settings of the server.
        let error = await #expect(throws: ChatError.self) { try await bob.conversation(open).history(limit: 101) }
        #expect(error?.code == .invalidParameter && error?.parameter == "limit" && error?.limit == 100)
        try await server.set { $0.allowsHistory = false }
        #expect(await read(bob, open) == .persistenceDisabled)
        try await server.perform { [city] in
            $0.putMember("bob", role: .owner, of: city, by: Caller(user: "admin", isAdmin: true), completion: $1)
        }
        server.startNextDay()
        try await server.set { $0.quotas[.groups] = 1 }
        func makeChannel(_ name: Identifier) async throws {
            try await server.perform {
                $0.putConversation(
                    .community("city", channel: name), ConversationSettings(), by: Caller(user: "bob"), completion: $1)
            }
        }
        try await makeChannel("first")
        let quota = await #expect(throws: ChatError.self) { try await makeChannel("second") }
        #expect(quota?.code == .rateLimited && quota?.limit == 1 && quota?.retryAfter != nil)
        // The server stops.
        server.engine.commits.close()
        let stopped = await #expect(throws: ChatError.self) { try await makeChannel("third") }
        #expect(stopped?.code == .shuttingDown && stopped?.isTemporary == true)
        await server.close()
    }
}
