import Foundation
import ScrollbackModel
import ScrollbackTesting
import TestSupport
import Testing

@testable import Scrollback

@Suite("Pinned messages and polls in the client", .timeLimit(.minutes(10)))
struct PinAndPollTests {
    private let id = ConversationID.group("swift")

    @Test("Pins and votes made offline are shown at once, and done once on all devices after a restart")
    func offline() async throws {
        let folder = try TemporaryFolder()
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let bob = try await server.client("bob")
        let alice = try await server.client("alice", store: .directory(folder.url))
        for client in [bob, alice] { try await client.ready() }
        let text = try await bob.conversation(id).send(.text("hi")).waitUntilSent()
        let poll = try await bob.conversation(id)
            .send(.poll(Poll(question: "Which day?", options: ["Saturday", "Sunday"]))).waitUntilSent()
        #expect(try await eventually { try await alice.texts(in: id).count == 2 })
        try await alice.conversation(id).vote(for: 0, in: poll.id).waitForCompletion()

        server.goOffline("alice")
        let group = alice.conversation(id)
        try await group.pin(text.id)
        try await group.vote(for: 1, in: poll.id)
        let pinned = try await group.pinnedMessages()
        #expect(pinned.messages.map(\.id) == [text.id] && pinned.remoteError != nil)
        #expect(pinned.messages[0].pinnedBy == "alice")
        #expect(try await group.message(poll.id).pollResults?.map(\.votes) == [0, 1])
        await alice.close()

        let again = try await server.client("alice", store: .directory(folder.url))
        #expect(try await again.conversation(id).pinnedMessages().messages.map(\.id) == [text.id])
        server.goOnline("alice")
        for client in [again, bob] {
            #expect(
                try await eventually {
                    let pinned = try await client.conversation(id).pinnedMessages()
                    let votes = try await client.conversation(id).message(poll.id).pollResults?.map(\.votes)
                    return pinned.messages.map(\.id) == [text.id] && pinned.remoteError == nil && votes == [0, 1]
                })
        }
        #expect(try await eventually { try await again.pendingCount() == 0 })
        // Bob unpins what Alice pinned; offline, the device's own copy shows it.
        try await bob.conversation(id).unpin(text.id).waitForCompletion()
        #expect(try await eventually { try await again.conversation(id).message(text.id).isPinned == false })
        server.goOffline("alice")
        #expect(try await again.conversation(id).pinnedMessages().messages.isEmpty)
        await server.close()
    }

    @Test("A vote in a closed poll is refused and no longer shown")
    func closed() async throws {
        let scene = try await scene()
        let poll = try await scene.alice.conversation(id)
            .send(.poll(Poll(question: "Which day?", options: ["Saturday", "Sunday"]))).waitUntilSent()
        let chat = scene.phone.conversation(id)
        #expect(try await eventually { try await scene.phone.recents[id]?.lastMessage?.id == poll.id })
        scene.server.goOffline("bob")
        let vote = try await chat.vote(for: 0, in: poll.id)
        #expect(try await chat.message(poll.id).pollResults?.map(\.votes) == [1, 0])
        try await scene.alice.conversation(id).closePoll(poll.id).waitForCompletion()
        scene.server.goOnline("bob")
        let error = await #expect(throws: ChatError.self) { try await vote.waitForCompletion() }
        #expect(error?.code == .conflict)
        #expect(
            try await eventually {
                let message = try await chat.message(poll.id)
                return message.pollResults?.map(\.votes) == [0, 0] && message.content?.poll?.isClosed == true
            })
        let negative = await #expect(throws: ChatError.self) { try await chat.vote(for: -1, in: poll.id) }
        #expect(negative?.parameter == "option")
        await scene.server.close()
    }
}
