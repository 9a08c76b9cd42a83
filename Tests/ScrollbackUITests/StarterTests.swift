import Foundation
import Scrollback
import ScrollbackTesting
import ScrollbackUI
import Testing

/// The steps of a user of `Examples/SwiftUIStarter`, with the properties and calls of its views.
@MainActor
@Suite("The screens of the SwiftUI starter")
struct StarterTests {
    @Test("A user signs in, chats, searches, works offline, creates a group and signs out")
    func example() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let (alice, bob) = (session(server, "alice"), session(server, "bob"))
        await alice.signIn()
        await bob.signIn()
        let (list, other) = (try #require(alice.list), try #require(bob.list))

        // Bob opens the group and writes. Alice sees it in the list, opens it and answers.
        try await shows { alice.connection == .online && bob.connection == .online }
        other.open(.group("swift"))
        let his = other.path[0]
        his.composer.text = "Who has time on Saturday?"
        await his.composer.send()
        try await shows { list.rows.first?.unread == 1 && list.rows[0].date != nil }
        list.open(list.rows[0].id)
        let screen = list.path[0]
        try await shows { screen.timeline.rows.count == 3 && screen.startRow == "unread" }
        screen.timeline.setVisible(screen.timeline.rows.map(\.id))
        try await shows { list.rows[0].unread == 0 }
        let typing = repeating { screen.composer.text += "." }
        try await shows { his.typing == ["alice"] && other.rows.first?.line == .typing(["Alice"]) }
        typing.cancel()
        screen.composer.text = "I do"
        screen.composer.reply(to: screen.timeline.messages[0])
        await screen.composer.send()
        try await shows { his.timeline.messages.last?.reference?.content?.text == "Who has time on Saturday?" }
        try await shows { his.typing.isEmpty && his.timeline.messages.last?.senderName == "Alice" }
        his.toggleReaction("👍", of: his.timeline.messages[1])
        try await shows { screen.timeline.messages.last?.reactions.first?.count == 1 }

        // Without a connection, a message waits, and can be cancelled or edited. The search covers the device.
        server.goOffline("alice")
        try await shows { if case .waiting = alice.connection { true } else { false } }
        for text in ["Where?", "When?"] {
            screen.composer.text = text
            await screen.composer.send()
        }
        try await shows { screen.timeline.messages.suffix(2).map(\.delivery) == [.waiting, .waiting] }
        try await screen.timeline.cancel(screen.timeline.messages[3].message)
        screen.composer.edit(screen.timeline.messages[2])
        screen.composer.text = "Where to?"
        await screen.composer.send()
        try await shows { screen.timeline.texts.suffix(2) == ["I do", "Where to?"] }
        list.search.text = "saturday"
        try await shows { list.search.isLocal }
        server.goOnline("alice")
        try await shows { his.timeline.texts.last == "Where to?" && alice.connection == .online }
        try await shows { screen.timeline.messages.last?.delivery == .sent }

        // Alice edits a sent message, finds Bob's first one and opens it.
        screen.composer.edit(screen.timeline.messages[1])
        screen.composer.text = "I have"
        await screen.composer.send()
        try await shows { his.timeline.texts.contains("I have") }
        list.search.text = "saturday?"
        try await shows { list.search.results.map(\.senderName) == ["Bob"] && !list.search.isLocal }
        list.path = []
        list.open(list.search.results[0])
        try await shows { list.path[0].startRow == list.search.results[0].id.description }

        // Alice creates a group, sends a picture to it, and signs out.
        list.beginGroup()
        list.newGroup?.name = "Climbing"
        list.newGroup?.directory.text = "bob"
        try await shows { list.newGroup?.candidates.map(\.id) == ["bob"] }
        list.newGroup?.add(UserProfile(id: "bob"))
        await list.createGroup()
        let group = try #require(list.path.last)
        await group.composer.sendPicture(picture)
        try await shows { other.rows.first?.title == "Climbing" && other.rows.first?.unread == 1 }
        try await shows { group.timeline.messages.last?.delivery == .sent }
        await group.loadPicture(of: try #require(group.timeline.messages.last))
        #expect(group.pictures.count == 1 && group.composer.error == nil && screen.timeline.error == nil)
        list.path = []
        await alice.signOut()
        #expect(alice.list == nil && alice.connection == .idle && alice.error == nil)
        await server.close()
    }

    private func session(_ server: TestServer, _ user: UserID) -> SessionModel {
        SessionModel(server: "http://chat", token: token(user), folder: nil) {
            (configuration) async throws(ChatError) in try await server.disconnectedClient(configuration.user)
        }
    }
}

/// A PNG image of one pixel.
let picture =
    Data(
        base64Encoded:
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    ) ?? Data()
