import Foundation
import Scrollback
import ScrollbackTesting
import Testing

// The tests that the article on testing shows.

@Test("A message queued offline is sent after reconnecting")
func waitsForTheNetwork() async throws {
    let server = try TestServer(users: ["alice", "bob"])
    let alice = try await server.client("alice")
    let bob = try await server.client("bob")

    server.goOffline("alice")
    let sending = try await alice.conversation(.direct("bob")).send(.text("hello"))
    server.goOnline("alice")
    _ = try await sending.waitUntilSent()

    let page = try await bob.conversation(.direct("alice")).history(from: .remote)
    #expect(page.messages.map(\.text) == ["hello"])
    await server.close()
}

@Test("A lost acknowledgement does not duplicate the message")
func lostAnswer() async throws {
    let server = try TestServer()
    try await server.makeGroup("swift", members: ["alice", "bob"])
    let chat = try await server.client("alice").conversation(.group("swift"))
    _ = try await chat.send(.text("first")).waitUntilSent()

    server.loseNextAcknowledgement(of: "alice")
    _ = try await chat.send(.text("second")).waitUntilSent()

    #expect(try server.messages(in: .group("swift")).map(\.text) == ["first", "second"])
    await server.close()
}

@Test("The recipient can download a file")
func fileArrives() async throws {
    let server = try TestServer()
    let tides = Data("07:10, 19:32".utf8)
    let alice = try await server.client("alice")
    let bob = try await server.client("bob")
    let message = try await alice.conversation(.direct("bob")).send(.file(.data(tides, name: "tides.txt")))
        .waitUntilSent()

    let copy = try await bob.media.file(for: try #require(message.content?.media))
    #expect(try Data(contentsOf: copy) == tides)
    await server.close()
}

@Test("An offline user gets a push that identifies the message")
func pushed() async throws {
    let server = try TestServer(users: ["alice", "bob"])
    try await server.setPush(true)
    let (alice, bob) = (try await server.client("alice"), try await server.client("bob"))
    try await bob.push.register(.fcm("a token"))
    for await state in bob.push.states where state == .registered { break }

    server.goOffline("bob")
    let sent = try await alice.conversation(.direct("bob")).send(.text("hello")).waitUntilSent()
    let push = try #require(try await server.pushes(to: "bob").first)
    #expect(push.title == "Alice" && push.text == "hello")
    #expect(try bob.destination(of: push.payload)?.message == sent.id)
    await server.close()
}

@Test("Two devices of one user show the same unread count")
func twoDevices() async throws {
    let server = try TestServer()
    let phone = try await server.client("alice")
    let laptop = try await server.client("alice")
    let bob = try await server.client("bob")
    _ = try await bob.conversation(.direct("alice")).send(.text("hello")).waitUntilSent()

    for await list in phone.recents.views() where list.totalUnread == 1 { break }
    try await phone.conversation(.direct("bob")).markRead()
    for await list in laptop.recents.views() where list.conversations.first?.unread == 0 { break }
    await server.close()
}

@Suite("Examples: testing")
struct TestingSnippets {
    func online(_ client: ChatClient) async {
        for await state in client.connection where state == .online { break }
    }

    func restart(server: TestServer, folder: URL) async throws -> Message {
        let first = try await server.disconnectedClient("alice", store: .directory(folder))
        let id = try await first.conversation(.direct("bob")).send(.text("hello")).id
        await first.close()

        let second = try await server.client("alice", store: .directory(folder))
        return try await second.conversation(.direct("bob")).sendHandle(for: id).waitUntilSent()
    }

    func paced(server: TestServer) async throws -> ChatClient {
        try await server.client("alice") { $0.pace = .init(excess: .fails) }
    }

    @Test("The next client that opens the directory sends the queued messages")
    func restarts() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let server = try TestServer()
        await online(try await server.client("bob"))
        #expect(try await restart(server: server, folder: folder).text == "hello")
        await server.close()
    }
}
