import Foundation
import ScrollbackModel
import ScrollbackTesting
import TestSupport
import Testing

@testable import Scrollback

@Suite("Threads in the client", .timeLimit(.minutes(10)))
struct ThreadListTests {
    private let id = ConversationID.group("swift")

    private func state(_ client: ChatClient, _ thread: MessageID) async throws -> ThreadState? {
        try await client.conversation(id).threads().threads.first { $0.id == thread }?.state
    }

    @Test("Threads have exact counts on every device, and a thread is read and followed on all of them")
    func devices() async throws {
        let scene = try await scene()
        let chat = scene.alice.conversation(id)
        let root = try await scene.phone.conversation(id).send(.text("one")).waitUntilSent()
        let other = try await chat.send(.text("two")).waitUntilSent()
        for text in ["a", "b"] { try await chat.send(.text(text), replyingTo: root.id).waitForCompletion() }
        let last = try await chat.send(.text("c"), mentioning: .everyone(), replyingTo: other.id).waitUntilSent()
        let page = try await scene.phone.conversation(id).threads()
        #expect(page.threads.map(\.id) == [other.id, root.id] && page.next == nil && page.remoteError == nil)
        #expect(page.threads.map(\.state.unread) == [1, 2] && page.threads.map(\.state.mentions) == [1, 0])
        #expect(page.threads.map(\.state.isFollowed) == [false, true])
        #expect(page.threads[0].lastReply?.id == last.id && page.threads[1].parent.text == "one")
        let first = try await scene.phone.conversation(id).threads(limit: 1)
        let rest = try await scene.phone.conversation(id).threads(after: first.next, limit: 1)
        #expect(first.threads.map(\.id) == [other.id] && rest.threads.map(\.id) == [root.id] && rest.next == nil)

        try await scene.phone.conversation(id).markThreadRead(of: last.id).waitForCompletion()
        try await scene.phone.conversation(id).followThread(of: other.id).waitForCompletion()
        for device in [scene.phone, scene.laptop] {
            #expect(
                try await eventually {
                    let state = try await state(device, other.id)
                    return state?.unread == 0 && state?.mentions == 0 && state?.isFollowed == true
                })
            #expect(try await state(device, root.id)?.unread == 2)
            #expect(try await eventually { try await device.recents[id]?.unread == 4 })
        }
        let followed = try await scene.laptop.conversation(id).threads(followed: true)
        #expect(followed.threads.map(\.id) == [other.id, root.id])
        try await scene.laptop.conversation(id).markRead()
        #expect(
            try await eventually {
                try await scene.phone.conversation(id).threads().threads.map(\.state.unread) == [0, 0]
            })
        await scene.server.close()
    }

    @Test("Offline, threads are listed from the device, and a read and a follow are shown at once and sent later")
    func offline() async throws {
        let folder = try TemporaryFolder()
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let bob = try await server.client("bob")
        let alice = try await server.client("alice", store: .directory(folder.url))
        for client in [bob, alice] { try await client.ready() }
        let root = try await bob.conversation(id).send(.text("one")).waitUntilSent()
        for text in ["a", "b"] {
            try await bob.conversation(id).send(.text(text), replyingTo: root.id).waitForCompletion()
        }
        #expect(try await eventually { try await alice.texts(in: id).count == 3 })
        server.goOffline("alice")
        var page = try await alice.conversation(id).threads()
        #expect(page.threads.map(\.id) == [root.id] && page.remoteError != nil && page.next == nil)
        #expect(page.threads[0].state.unread == 2 && page.threads[0].lastReply?.text == "b")
        #expect(page.threads[0].state.isFollowed == false)
        try await alice.conversation(id).markThreadRead(of: root.id)
        try await alice.conversation(id).followThread(of: root.id)
        page = try await alice.conversation(id).threads(followed: true)
        #expect(page.threads.map(\.state.unread) == [0])
        await alice.close()

        // A reply that arrives later is unread, and nothing else is.
        try await bob.conversation(id).send(.text("c"), replyingTo: root.id).waitForCompletion()
        let again = try await server.client("alice", store: .directory(folder.url))
        #expect(try await again.conversation(id).threads(followed: true).threads.map(\.state.unread) == [0])
        server.goOnline("alice")
        #expect(try await eventually { try await again.pendingCount() == 0 })
        #expect(
            try await eventually {
                let page = try await again.conversation(id).threads(followed: true)
                return page.remoteError == nil && page.threads.map(\.state.unread) == [1]
            })
        server.goOffline("alice")
        #expect(
            try await eventually {
                let page = try await again.conversation(id).threads(followed: true)
                return page.threads.map(\.state.unread) == [1] && page.threads[0].lastReply?.text == "c"
            })
        await again.close()
        await server.close()
    }

    @Test("A thread that was unfollowed on another device while this one was offline is not listed as followed")
    func unfollowedElsewhere() async throws {
        let folder = try TemporaryFolder()
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let (alice, laptop) = (try await server.client("alice"), try await server.client("bob"))
        let phone = try await server.client("bob", store: .directory(folder.url))
        for client in [alice, laptop, phone] { try await client.ready() }
        var roots: [MessageID] = []
        for number in 0..<4 {
            let root = try await alice.conversation(id).send(.text("\(number)")).waitUntilSent()
            roots.append(root.id)
            try await alice.conversation(id).send(.text("reply"), replyingTo: root.id).waitForCompletion()
        }
        #expect(try await eventually { try await phone.texts(in: id).count == 8 })
        for root in roots { try await phone.conversation(id).followThread(of: root).waitForCompletion() }
        let all = try await phone.conversation(id).threads(followed: true)
        #expect(all.threads.map(\.id) == roots.reversed())
        await phone.close()
        for root in roots.suffix(2) { try await laptop.conversation(id).unfollowThread(of: root).waitForCompletion() }

        let again = try await server.client("bob", store: .directory(folder.url))
        try await again.ready()
        let chat = again.conversation(id)
        // The page does not end the list, so that it knows nothing about other threads.
        let first = try await chat.threads(followed: true, limit: 1)
        #expect(first.remoteError == nil && first.threads.map(\.id) == [roots[1]])
        #expect(try await chat.threads(followed: true).threads.map(\.id) == [roots[1], roots[0]])
        server.goOffline("bob")
        #expect(try await chat.threads(followed: true).threads.map(\.id) == [roots[1], roots[0]])
        try await chat.followThread(of: roots[3])
        #expect(try await chat.threads(followed: true).threads.map(\.id) == [roots[3], roots[1], roots[0]])
        await server.close()
    }

    @Test("Offline, followed threads are found behind many others")
    func followedBehindOthers() async throws {
        let scene = try await scene()
        let chat = scene.alice.conversation(id)
        var roots: [MessageID] = []
        for number in 0..<30 {
            let root = try await chat.send(.text("\(number)")).waitUntilSent()
            roots.append(root.id)
            try await chat.send(.text("reply"), replyingTo: root.id).waitForCompletion()
        }
        #expect(try await eventually { try await scene.phone.texts(in: id).count == 60 })
        let phone = scene.phone.conversation(id)
        for root in roots.prefix(3) { try await phone.followThread(of: root).waitForCompletion() }
        scene.server.goOffline("bob")
        try await phone.unfollowThread(of: roots[2])
        let page = try await phone.threads(followed: true, limit: 1)
        #expect(page.threads.map(\.id) == [roots[1]])
        let rest = try await phone.threads(followed: true, after: page.next, limit: 1)
        #expect(rest.threads.map(\.id) == [roots[0]] && rest.next == nil)
        await scene.server.close()
    }

    @Test("A refused follow is no longer shown")
    func refused() async throws {
        let scene = try await scene()
        let root = try await scene.alice.conversation(id).send(.text("one")).waitUntilSent()
        let reply = try await scene.alice.conversation(id).send(.text("a"), replyingTo: root.id).waitUntilSent()
        #expect(try await eventually { try await scene.phone.texts(in: id).count == 2 })
        scene.server.goOffline("bob")
        let chat = scene.phone.conversation(id)
        let handle = try await chat.followThread(of: root.id)
        #expect(try await chat.threads(followed: true).threads.map(\.id) == [root.id])
        try await scene.alice.conversation(id).recall(reply.id).waitForCompletion()
        scene.server.goOnline("bob")
        let error = await #expect(throws: ChatError.self) { try await handle.waitForCompletion() }
        #expect(error?.code == .unknownMessage)
        #expect(try await eventually { try await chat.threads(followed: true).threads.isEmpty })
        let limit = await #expect(throws: ChatError.self) { try await chat.threads(limit: 0) }
        #expect(limit?.parameter == "limit")
        await scene.server.close()
    }
}
