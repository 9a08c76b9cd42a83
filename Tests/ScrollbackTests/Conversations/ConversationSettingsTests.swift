import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import ScrollbackWire
import TestSupport
import Testing

@testable import Scrollback

@Suite("Creating, changing and deleting conversations in the client", .timeLimit(.minutes(10)))
struct ConversationSettingsTests {
    private let name = "تسلّق 🧗"

    // MARK: Creating

    @Test("A group that was created offline exists once, with its members and messages in order, after a restart")
    func createOffline() async throws {
        let folder = try TemporaryFolder()
        let server = try TestServer(users: ["alice", "bob"])
        let alice = try await server.client("alice", store: .directory(folder.url))
        let (laptop, bob) = (try await server.client("alice"), try await server.client("bob"))
        server.goOffline("alice")
        let id = ConversationID.newGroup()
        let group = alice.conversation(id)
        let creation = try await group.create(ConversationSettings(name: name, members: ["bob"]))
        let first = try await group.send(.text("one"))
        let renaming = try await group.update(ConversationSettings(name: name + " II"))
        try await group.send(.text("two"))
        let shown = try #require(try await alice.recents.view().conversations.first)
        #expect(shown.id == id && shown.name == name + " II")
        await alice.close()

        let again = try await server.client("alice", store: .directory(folder.url))
        #expect(try await again.recents[id]?.name == name + " II")
        #expect(try await again.pendingCount() == 4)
        server.goOnline("alice")
        let restored = again.conversation(id)
        for handle in [creation, renaming] { try await restored.sendHandle(for: handle.id).waitForCompletion() }
        _ = try await restored.sendHandle(for: first.id).waitUntilSent()
        for client in [again, laptop, bob] {
            #expect(try await eventually { try await client.texts(in: id) == ["one", "two"] })
            #expect(try await eventually { try await client.recents[id]?.name == name + " II" })
        }
        let members = try await bob.conversation(id).members().members
        #expect(members.map(\.id) == ["alice", "bob"] && members.map(\.role) == [.owner, .member])
        #expect(try await again.pendingCount() == 0)
        await server.close()
    }

    @Test("A creation whose answer was lost is done once, and later changes of other devices stay")
    func lostAnswers() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        let held = HeldTransport(answersTo: { $0.type == "putConversation" })
        let alice = try await server.client("alice") { held.use(in: &$0) }
        let laptop = try await server.client("alice")
        try await laptop.ready()
        let id = ConversationID.newGroup()
        let group = alice.conversation(id)

        held.hold()
        let creation = try await group.create(ConversationSettings(name: "One", members: ["bob"]))
        #expect(try await eventually { held.heldCount == 1 })
        try await laptop.conversation(id).remove("bob").waitForCompletion()
        try await laptop.conversation(id).update(ConversationSettings(name: "Two")).waitForCompletion()
        server.goOffline("alice")
        held.release()
        server.goOnline("alice")
        try await creation.waitForCompletion()
        #expect(try await eventually { try await alice.recents[id]?.name == "Two" })
        #expect(try await group.members().members.map(\.id) == ["alice"])

        held.hold()
        let renaming = try await group.update(ConversationSettings(name: "Three"))
        #expect(try await eventually { held.heldCount == 1 })
        try await laptop.conversation(id).update(ConversationSettings(name: "Four")).waitForCompletion()
        server.goOffline("alice")
        held.release()
        server.goOnline("alice")
        try await renaming.waitForCompletion()
        #expect(try server.engine.head(of: id, by: Caller(user: "alice")).name == "Four")
        #expect(try await eventually { try await alice.recents[id]?.name == "Four" })
        await server.close()
    }

    @Test("A refused or cancelled creation leaves nothing in the list")
    func creationIsUndone() async throws {
        let server = try TestServer(users: ["alice", "bob", "eve"])
        try await server.makeGroup("swift", members: ["bob"])
        try await server.makeGroup("own", members: ["alice"])
        let alice = try await server.client("alice")
        for (group, code) in [
            ("swift", .unknownConversation), ("own", .conflict),
        ] as [(Identifier, ChatError.Code)] {
            server.goOffline("alice")
            let creation = try await alice.conversation(.group(group)).create(ConversationSettings(name: "Mine"))
            #expect(try await alice.recents[.group(group)]?.name == "Mine")
            server.goOnline("alice")
            let error = await #expect(throws: ChatError.self) { try await creation.waitForCompletion() }
            #expect(error?.code == code)
            #expect(try await eventually { try await alice.recents[.group(group)]?.name != "Mine" })
        }
        #expect(try await alice.recents[.group("swift")] == nil)
        #expect(try server.engine.head(of: .group("swift"), by: Caller(user: "bob")).name == "swift")

        server.goOffline("alice")
        let group = alice.conversation(.newGroup())
        let creation = try await group.create()
        #expect(try await group.recent() != nil)
        try await creation.cancel()
        #expect(try await group.recent() == nil)
        server.goOnline("alice")
        #expect(try await alice.pendingCount() == 0)
        await server.close()
    }

    @Test("A message to a group that the server refused to create states the reason")
    func refusedCreation() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        let (alice, bob) = (try await server.client("alice"), try await server.client("bob"))
        try await bob.block("alice")
        let group = alice.conversation(.newGroup())
        let creation = try await group.create(ConversationSettings(name: name, members: ["bob"]))
        let message = try await group.send(.text("hello"))
        let refusal = await #expect(throws: ChatError.self) { try await creation.waitForCompletion() }
        #expect(refusal?.code == .blocked)
        let error = await #expect(throws: ChatError.self) { try await message.waitUntilSent() }
        #expect(error?.code == .unknownConversation)
        #expect(error?.message == "The conversation could not be created: \(refusal?.message ?? "")")
        await server.close()
    }

    @Test("A file for a group that is not created yet is uploaded when it is")
    func fileBeforeCreation() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        let held = HeldTransport(requests: { $0.type == "putConversation" })
        let alice = try await server.client("alice") { held.use(in: &$0) }
        let group = alice.conversation(.newGroup())
        held.hold()
        try await group.create(ConversationSettings(name: name, members: ["bob"]))
        let message = try await group.send(.file(.data(Data([1]))))
        for await state in message.states { if case .waiting = state { break } }
        held.release()
        #expect(try await message.waitUntilSent().type == .file)
        await server.close()
    }

    @Test("Invalid settings are refused before they are queued")
    func invalid() async throws {
        let server = try TestServer(users: ["alice"])
        let alice = try await server.client("alice")
        let group = alice.conversation(.newGroup())
        func parameter(_ settings: ConversationSettings, isNew: Bool = true) async -> String? {
            let error = await #expect(throws: ChatError.self) {
                _ = isNew ? try await group.create(settings) : try await group.update(settings)
            }
            return error?.parameter
        }
        #expect(await parameter(.init(name: String(repeating: "a", count: 129))) == "name")
        #expect(await parameter(.init(avatar: "ftp://example.com")) == "avatar")
        #expect(await parameter(.init(metadata: RawJSON(known: "[]"))) == "metadata")
        #expect(await parameter(.init(retention: .set(.days(0)))) == "retentionDays")
        #expect(await parameter(.init(members: Array(repeating: "bob", count: 1001))) == "members")
        #expect(await parameter(.init(members: ["bob"]), isNew: false) == "members")
        #expect(try await alice.pendingCount() == 0)
        #expect(try await alice.recents.view().conversations.isEmpty)
        await server.close()
    }

    // MARK: Changing

    @Test("A change is shown at once, on all devices when the server accepts it, and no longer when it refuses it")
    func change() async throws {
        let scene = try await scene()
        let (alice, bob) = (scene.alice, scene.phone)
        let id = ConversationID.group("swift")
        _ = try await alice.conversation(id).send(.text("hi")).waitUntilSent()
        try await until("The message is listed", [alice] + scene.devices) { try await $0.recents[id] != nil }
        scene.server.goOffline("bob")
        let refused = try await bob.conversation(id).update(ConversationSettings(name: "Bob's", isFrozen: true))
        let pending = try await bob.recents[id]
        #expect(pending?.name == "Bob's" && pending?.isFrozen == true)
        scene.server.goOnline("bob")
        let error = await #expect(throws: ChatError.self) { try await refused.waitForCompletion() }
        #expect(error?.code == .forbidden)
        let restored = try await bob.recents[id]
        #expect(restored?.name == "swift" && restored?.isFrozen == false)

        let accepted = try await alice.conversation(id).update(
            ConversationSettings(name: name, avatar: "https://example.com/a.png"))
        #expect(try await alice.recents[id]?.name == name)
        try await accepted.waitForCompletion()
        #expect(try await alice.recents[id]?.name == name)
        try await until("The name is shown", [alice] + scene.devices) {
            let recent = try await $0.recents[id]
            return recent?.name == name && recent?.avatar == "https://example.com/a.png"
        }
        // An empty text removes a name.
        try await alice.conversation(id).update(ConversationSettings(name: "", avatar: "")).waitForCompletion()
        try await until("The name is gone", [alice] + scene.devices) {
            let recent = try await $0.recents[id]
            return recent != nil && recent?.name == nil && recent?.avatar == nil
        }
        await scene.server.close()
    }

    @Test("A change never creates a conversation")
    func changeOfNothing() async throws {
        let server = try TestServer(users: ["alice"])
        let alice = try await server.client("alice")
        let change = try await alice.conversation(.group("typo")).update(ConversationSettings(name: "Name"))
        let error = await #expect(throws: ChatError.self) { try await change.waitForCompletion() }
        #expect(error?.code == .unknownConversation)
        #expect(throws: ChatError.self) { try server.engine.head(of: .group("typo"), by: Caller(user: "alice")) }
        await server.close()
    }

    // MARK: Deleting

    @Test("A deleted conversation disappears at once, and returns if the server refuses the deletion")
    func delete() async throws {
        let scene = try await scene()
        let (alice, bob) = (scene.alice, scene.phone)
        let id = ConversationID.group("swift")
        _ = try await alice.conversation(id).send(.text("hi")).waitUntilSent()
        try await until("The message is unread", scene.devices) { try await $0.recents[id]?.unread == 1 }
        scene.server.goOffline("bob")
        let refused = try await bob.conversation(id).deleteConversation()
        #expect(try await bob.recents[id] == nil)
        let hidden = try await bob.recents.view()
        #expect(hidden.conversations.isEmpty && hidden.totalUnread == 0)
        scene.server.goOnline("bob")
        let error = await #expect(throws: ChatError.self) { try await refused.waitForCompletion() }
        #expect(error?.code == .forbidden)
        let shown = try await bob.recents.view()
        #expect(shown.conversations.map(\.id) == [id] && shown.totalUnread == 1)

        let deletion = try await alice.conversation(id).deleteConversation()
        #expect(try await alice.recents[id] == nil)
        try await deletion.waitForCompletion()
        try await until("The group is gone", [alice] + scene.devices) { try await $0.recents[id] == nil }
        #expect(try await alice.texts(in: id).isEmpty)
        // A conversation that doesn't exist counts as deleted, so a deletion whose answer was lost can be repeated.
        try await alice.conversation(id).deleteConversation().waitForCompletion()
        await scene.server.close()
    }

    // MARK: Communities

    @Test("The owner of a community creates channels, and members list those that they may see")
    func channels() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        let (admin, alice) = (try await server.client("admin"), try await server.client("alice"))
        let city = ConversationID.community("city")
        try await admin.conversation(city).create(ConversationSettings(name: "City", members: ["alice", "bob"]))
            .waitForCompletion()
        try await admin.conversation(city).setRole(.owner, of: "alice").waitForCompletion()
        for (channel, isPrivate) in [("news", false), ("board", true)] as [(Identifier, Bool)] {
            try await alice.conversation(.community("city", channel: channel))
                .create(ConversationSettings(name: channel.text.capitalized, isPrivate: isPrivate)).waitForCompletion()
        }
        let first = try await alice.conversation(city).channels(limit: 2)
        #expect(first.channels.map(\.name) == ["Board", nil])
        let second = try await alice.conversation(city).channels(after: first.next, limit: 2)
        #expect(second.channels.map(\.conversation) == [.community("city", channel: "news")] && second.next == nil)
        let bob = try await server.client("bob")
        #expect(try await bob.conversation(city).channels().channels.map(\.name) == [nil, "News"])
        let error = await #expect(throws: ChatError.self) { try await bob.conversation(.group("g")).channels() }
        #expect(error?.parameter == "conversation")
        await server.close()
    }
}
