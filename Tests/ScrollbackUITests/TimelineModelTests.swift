import Foundation
import Scrollback
import ScrollbackTesting
import ScrollbackUI
import Testing

@MainActor
@Suite("TimelineModel", .serialized)
struct TimelineModelTests {
    private let group = ConversationID.group("swift")

    /// Creates a server with a group in which Bob has sent `count` messages.
    private func server(messages count: Int) async throws -> (server: TestServer, alice: ChatClient, bob: ChatClient) {
        let server = try TestServer(users: ["bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let bob = try await server.client("bob")
        try await sendMessages(1...count, bob)
        return (server, try await server.client("alice"), bob)
    }

    private func sendMessages(_ numbers: ClosedRange<Int>, _ client: ChatClient) async throws {
        for number in numbers { try await client.conversation(group).send(.text("\(number)")) }
        await client.waitForOutbox()
    }

    @Test("The model shows messages, senders and typing users, and scrolls in both directions")
    func scrolls() async throws {
        let (server, alice, bob) = try await server(messages: 50)
        let model = TimelineModel(alice.conversation(group), window: 10)
        #expect(!model.isLoaded)
        try await shows { model.numbers == Array(41...50) && model.profiles["bob"]?.name == "Bob" }
        #expect(model.isLoaded && model.isAtNewest && model.hasOlder)
        // Both tasks are enqueued on the main actor together, so the second call starts before the first one ends.
        let loads = (1...2).map { _ in Task { try await model.loadOlder() } }
        for load in loads { try await load.value }
        #expect(!model.isLoadingOlder)
        try await shows { model.numbers == Array(36...50) }
        for _ in 1...8 { try await model.loadOlder() }
        try await shows { model.numbers == Array(1...20) && !model.isAtNewest && !model.hasOlder }
        try await model.loadNewer()
        try await shows { model.numbers == Array(6...25) }
        try await model.jump(to: .latest)
        try await shows { model.numbers == Array(41...50) && model.isAtNewest }
        let typing = repeating { bob.conversation(group).setTyping(true) }
        try await shows { model.typing == ["bob"] }
        typing.cancel()
        try await sendMessages(51...51, bob)
        try await shows { model.numbers.last == 51 && model.typing == [] }
        await server.close()
    }

    @Test("A sent message appears immediately, reports its state, and keeps its ID")
    func sends() async throws {
        let (server, alice, bob) = try await server(messages: 1)
        let model = TimelineModel(alice.conversation(group))
        try await shows { model.numbers == [1] }
        server.goOffline("alice")
        for await state in alice.connection where state != .online { break }
        let sending = try await model.send(.text("2"))
        try await shows { model.pending.map(\.id) == [sending.id] }
        let ids = model.items.map(\.id)
        try await model.cancel(sending.id)
        try await shows { model.items.count == 1 }
        let second = try await model.send(.text("2"))
        try await shows { model.items.count == 2 }
        #expect(model.items.map(\.id) == [ids[0], second.id.description])
        server.goOnline("alice")
        try await shows { model.numbers == [1, 2] && model.pending.isEmpty }
        #expect(model.items.map(\.id) == [ids[0], second.id.description])

        try await server.setMember("alice", of: group, false)
        let refused = try await model.send(.text("3"))
        try await shows {
            if case .failed(let error) = model.pending.last?.state { error.code == .notMember } else { false }
        }
        try await server.setMember("alice", of: group, true)
        try await model.retry(refused.id)
        try await shows { model.numbers == [1, 2, 3] }
        #expect(try await bob.conversation(group).history(limit: 1, from: .remote).messages[0].text == "3")
        #expect(model.error == nil)
        await server.close()
    }

    @Test("The model shows through which message the peer of a direct conversation has received and read")
    func receipts() async throws {
        let (server, alice, bob) = try await server(messages: 1)
        let model = TimelineModel(alice.conversation(.direct("bob")))
        let sent = try await alice.conversation(.direct("bob")).send(.text("1")).waitUntilSent()
        try await shows { model.peerDeliveredSeq == sent.seq }
        #expect(model.peerReadSeq == 0)
        try await bob.conversation(.direct("alice")).markRead()
        try await shows { model.peerReadSeq == sent.seq && model.peerDeliveredSeq == sent.seq }
        await server.close()
    }

    @Test("An error is thrown and stays in the error property until it is reset")
    func errors() async throws {
        let (server, alice, _) = try await server(messages: 5)
        let model = TimelineModel(alice.conversation(group), window: 2)
        try await shows { model.numbers == [4, 5] }
        await #expect(throws: ChatError.self) { try await model.jump(to: .id(MessageID(UUID()))) }
        #expect(model.error?.code == .unknownMessage)
        model.error = nil
        await #expect(throws: ChatError.self) { try await model.send(.text(String(repeating: "a", count: 1 << 20))) }
        #expect(model.error?.code == .tooLarge)
        await #expect(throws: ChatError.self) { try await model.markRead(upTo: MessageID(UUID())) }
        #expect(model.error?.code == .unknownMessage)
        #expect(model.numbers == [4, 5])
        await server.close()
    }

    @Test("The model marks messages as read only with marksRead and a visible newest message")
    func reads() async throws {
        let (server, alice, bob) = try await server(messages: 20)
        let chat = alice.conversation(group)
        let model = TimelineModel(chat, at: .firstUnread, window: 40)
        try await shows { model.numbers == Array(1...20) && model.firstUnread != nil }
        model.setVisible(from: model.items[0].id, to: model.items[19].id)
        try await Task.sleep(for: .milliseconds(100))
        #expect(try await chat.recent()?.unread == 20, "marksRead is off.")
        model.setVisible(from: model.items[0].id, to: model.items[9].id)
        model.marksRead = true
        try await Task.sleep(for: .milliseconds(100))
        #expect(try await chat.recent()?.unread == 20, "The newest message is not visible.")
        model.setVisible(from: model.items[10].id, to: model.items[19].id)
        try await shows { model.firstUnread == nil }
        #expect(try await chat.recent()?.unread == 0)

        // A manual unread mark remains until the user sees a new message.
        try await chat.markUnread()
        try await sendMessages(21...21, bob)
        try await shows { model.numbers.last == 21 }
        #expect(try await chat.recent()?.isMarkedUnread == true)
        #expect(try await chat.recent()?.unread == 1)
        model.setVisible(from: model.items[10].id, to: model.items[20].id)
        try await shows { model.firstUnread == nil }
        #expect(try await chat.recent()?.isMarkedUnread == false)
        await server.close()
    }

    @Test("Messages that arrive while the main actor is busy are combined into few updates")
    func coalesces() async throws {
        let server = try TestServer()
        // Without a server, only this process does work, and the blocked main actor can't apply updates in between.
        let chat = try await server.disconnectedClient("alice").conversation(.direct("bob"))
        let model = TimelineModel(chat)
        try await shows { model.isLoaded }
        let updates = Updates { _ = model.items }
        let arrived = DispatchSemaphore(value: 0)
        Task.detached {
            for number in 1...12 { try await chat.send(.text("\(number)")) }
            for await view in chat.timeline().views where view.items.count == 12 { break }
            arrived.signal()
        }
        #expect(Self.wait(for: arrived))
        try await shows { model.pending.map(\.content.text) == (1...12).map(String.init) }
        await Task.yield()
        #expect((1...5).contains(updates.count), "12 messages must cause at most 5 updates.")
        await server.close()
    }

    /// Blocks the main actor until the semaphore is signaled.
    private static func wait(for semaphore: DispatchSemaphore) -> Bool {
        semaphore.wait(timeout: .now() + 100) == .success
    }

    @Test("A released model is deallocated and stops its tasks")
    func released() async throws {
        let (server, alice, _) = try await server(messages: 3)
        var model: TimelineModel? = TimelineModel(alice.conversation(group), marksRead: true)
        weak let released = model
        if let model { try await shows { model.numbers == [1, 2, 3] } }
        let running = try #require(model).running
        #expect(running.count == 2)
        model = nil
        try #require(released == nil)
        for task in running { await task.value }
        await server.close()
    }
}

extension TimelineModel {
    /// The texts of the messages as numbers.
    fileprivate var numbers: [Int] {
        items.compactMap { if case .message(let message) = $0 { message.text.flatMap { Int($0) } } else { nil } }
    }

    fileprivate var pending: [Timeline.Pending] {
        items.compactMap { if case .pending(let pending) = $0 { pending } else { nil } }
    }
}
