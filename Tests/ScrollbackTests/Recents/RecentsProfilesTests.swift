import Scrollback
import ScrollbackModel
import ScrollbackTesting
import TestSupport
import Testing

@Suite("Profiles in the list of recent conversations", .timeLimit(.minutes(10)))
struct RecentsProfilesTests {
    private let group = ConversationID.group("swift")

    @Test("A view has the profiles and titles of peers and senders, without a request, and a stream loads them")
    func profiles() async throws {
        let server = try TestServer(users: ["bob", "carol"])
        try await server.makeGroup("swift", members: ["carol", "alice"])
        let (alice, bob, carol) = try await (server.client("alice"), server.client("bob"), server.client("carol"))
        _ = try await bob.conversation(.direct("alice")).send(.text("hello")).waitUntilSent()
        _ = try await carol.conversation(group).send(.text("hello")).waitUntilSent()
        #expect(
            try await eventually {
                try await alice.recents.view().conversations.map(\.id) == [group, .direct("bob")]
            })
        let view = try await alice.recents.view()
        #expect(view.profiles.isEmpty && view.conversations.map { view.title(of: $0) } == ["swift", "bob"])
        for await view in alice.recents.views() where view.profiles.count == 2 {
            #expect(view.profiles.mapValues(\.name) == ["bob": "Bob", "carol": "Carol"])
            #expect(view.conversations.map { view.title(of: $0) } == ["swift", "Bob"])
            break
        }
        #expect(try await alice.recents.view(limit: 1).profiles.mapValues(\.name) == ["carol": "Carol"])
        await server.close()
    }

    @Test("Profiles that can't be loaded without a connection, or that changed, are loaded after it returns")
    func reconnecting() async throws {
        let server = try TestServer(users: ["bob"])
        let alice = try await server.client("alice")
        server.goOffline("alice")
        for await state in alice.connection where state != .online { break }
        try await alice.recents.add(.direct("bob"))
        let views = alice.recents.views()
        for await view in views {
            #expect(view.conversations.map { view.title(of: $0) } == ["bob"])
            break
        }
        // Without a connection, the requests of the stream and of this call end at once.
        _ = try await alice.profiles(of: ["bob"])
        server.goOnline("alice")
        for await view in views where view.profiles["bob"]?.name == "Bob" { break }
        server.goOffline("alice")
        for await state in alice.connection where state != .online { break }
        try await server.setName("Robert", of: "bob")
        // A profile is loaded again after an hour.
        server.advance(by: 2 * 3600)
        server.goOnline("alice")
        for await view in views where view.conversations.map({ view.title(of: $0) }) == ["Robert"] { break }
        await server.close()
    }
}
