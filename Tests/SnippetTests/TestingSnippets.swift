import Foundation
import Scrollback
import ScrollbackTesting
import Testing

// The tests that the article on testing shows.

@Test("A message queued offline is sent after reconnecting")
func waitsForTheNetwork() async throws {
    let world = try ChatWorld(users: ["alice", "bob"])
    let alice = try await world.client("alice")
    let bob = try await world.client("bob")

    world.goOffline("alice")
    let sending = try await alice.conversation(.direct("bob")).send(.text("hello"))
    world.goOnline("alice")
    _ = try await sending.delivered()

    let page = try await bob.conversation(.direct("alice")).history(from: .remote)
    #expect(page.messages.map(\.text) == ["hello"])
    await world.close()
}

@Test("A lost acknowledgement does not duplicate the message")
func lostAnswer() async throws {
    let world = try ChatWorld()
    try await world.makeGroup("swift", members: ["alice", "bob"])
    let chat = try await world.client("alice").conversation(.group("swift"))
    _ = try await chat.send(.text("first")).delivered()

    world.loseNextAcknowledgement(of: "alice")
    _ = try await chat.send(.text("second")).delivered()

    #expect(try world.messages(in: .group("swift")).map(\.text) == ["first", "second"])
    await world.close()
}

@Test("The recipient can download a file")
func fileArrives() async throws {
    let world = try ChatWorld()
    let tides = Data("07:10, 19:32".utf8)
    let alice = try await world.client("alice")
    let bob = try await world.client("bob")
    let message = try await alice.conversation(.direct("bob")).send(.file(.data(tides, name: "tides.txt"))).delivered()

    let copy = try await bob.media.file(for: try #require(message.content?.media))
    #expect(try Data(contentsOf: copy) == tides)
    await world.close()
}

@Test("An offline user gets a push that identifies the message")
func pushed() async throws {
    let world = try ChatWorld(users: ["alice", "bob"])
    try await world.setPush(true)
    let (alice, bob) = (try await world.client("alice"), try await world.client("bob"))
    try await bob.push.register(.fcm("a token"))
    for await state in bob.push.states where state == .registered { break }

    world.goOffline("bob")
    let sent = try await alice.conversation(.direct("bob")).send(.text("hello")).delivered()
    let push = try #require(try await world.pushes(to: "bob").first)
    #expect(push.title == "Alice" && push.text == "hello")
    #expect(try bob.destination(of: push.payload)?.message == sent.id)
    await world.close()
}

@Test("Two devices of one user show the same unread count")
func twoDevices() async throws {
    let world = try ChatWorld()
    let phone = try await world.client("alice")
    let laptop = try await world.client("alice")
    let bob = try await world.client("bob")
    _ = try await bob.conversation(.direct("alice")).send(.text("hello")).delivered()

    for await list in phone.recents.views() where list.totalUnread == 1 { break }
    try await phone.conversation(.direct("bob")).markRead()
    for await list in laptop.recents.views() where list.conversations.first?.unread == 0 { break }
    await world.close()
}

@Suite("Examples: testing")
struct WorldSnippets {
    func online(_ client: ChatClient) async {
        for await state in client.connection where state == .online { break }
    }

    func restart(world: ChatWorld, folder: URL) async throws -> Message {
        let first = try await world.disconnectedClient("alice", store: .directory(folder))
        let id = try await first.conversation(.direct("bob")).send(.text("hello")).id
        await first.close()

        let second = try await world.client("alice", store: .directory(folder))
        return try await second.conversation(.direct("bob")).sending(id).delivered()
    }

    func paced(world: ChatWorld) async throws -> ChatClient {
        try await world.client("alice") { $0.pace = .init(excess: .fails) }
    }

    @Test("The next client that opens the directory sends the queued messages")
    func restarts() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let world = try ChatWorld()
        await online(try await world.client("bob"))
        #expect(try await restart(world: world, folder: folder).text == "hello")
        await world.close()
    }
}
