import ContractRows
import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import Synchronization
import TestSupport
import Testing

@Suite("Rooms in the client")
struct RoomTests {
    private let room = ConversationID.room("lobby")

    /// A client that shows the newest messages of a room.
    private final class Watcher: Sendable {
        let client: ChatClient
        let timeline: Timeline
        private let subscription: Conversation.Subscription
        private let view = Mutex<Timeline.View?>(nil)
        private let task = Mutex<Task<Void, Never>?>(nil)

        init(_ client: ChatClient, in room: ConversationID) {
            self.client = client
            let conversation = client.conversation(room)
            subscription = conversation.subscribe()
            timeline = conversation.timeline(window: 50)
            let task = Task { [self] in for await new in timeline.views { view.withLock { $0 = new } } }
            self.task.withLock { $0 = task }
        }

        func stop() { task.withLock { $0 }?.cancel() }

        var isLive: Bool {
            get async {
                for await state in subscription.states { return state == .live }
                return false
            }
        }

        var texts: [String] {
            view.withLock { view in
                (view?.items ?? []).compactMap { if case .message(let message) = $0 { message.text } else { nil } }
            }
        }

        var gaps: Int {
            view.withLock { view in
                (view?.items ?? []).count { if case .gap = $0 { true } else { false } }
            }
        }
    }

    private func sendMessage(
        _ text: String, _ priority: MessagePriority, in server: TestServer, by user: UserID = "host"
    ) async throws {
        var generator = SystemRandomNumberGenerator()
        let submission = Submission(
            id: MessageID(at: Date(), using: &generator), content: .text(text), attributes: .init(priority: priority))
        // Only moderators may send with high priority. Rooms have no member list, so an administrator sends these.
        let caller = Caller(user: user, isAdmin: priority == .high)
        try await server.perform { $0.send(submission, to: room, by: caller, completion: $1) }
    }

    @Test(
        "A busy room drops low-priority messages, and clients request them only when a user scrolls there", .history(23)
    )
    func underLoad() async throws {
        let server = try TestServer(users: ["host"])
        try await server.makeRoom("lobby")
        try await server.set { $0.moderation.roomMessagesPerSecond = 1 }
        for number in 1...5 { try await sendMessage("before \(number)", .high, in: server) }
        let users = (1...5).map { UserID(known: "fan\($0)") }
        var watchers: [Watcher] = []
        for user in users { watchers.append(Watcher(try await server.client(user), in: room)) }
        for watcher in watchers {
            #expect(try await eventually { await watcher.isLive && watcher.texts.count == 5 })
        }
        let calm = users.map { server.requests(of: $0) }
        for number in 1...400 {
            try await sendMessage("like \(number)", .low, in: server)
            if number % 100 == 0 { try await sendMessage("host \(number)", .high, in: server) }
        }
        for watcher in watchers { #expect(try await eventually { watcher.texts.last == "host 400" }) }
        // Enough time for any automatic request.
        try await Task.sleep(for: .milliseconds(700))
        for (user, before) in zip(users, calm) {
            let asked = server.requests(of: user).filter {
                $0.value != before[$0.key] ?? 0 && !["users", "ping"].contains($0.key)
            }
            #expect(asked == [:], "\(user)")
        }
        for watcher in watchers {
            #expect(watcher.gaps > 0 && watcher.texts.filter { $0.hasPrefix("like") }.count < 200)
            #expect(try await watcher.client.verifyIntegrity() == [])
        }
        // One client scrolls there and requests the dropped messages. No other client does.
        let curious = watchers[0]
        try await curious.timeline.jump(to: .seq(150))
        #expect(
            try await eventually {
                curious.gaps == 0 && curious.texts.count >= 40 && curious.texts.contains { $0.hasPrefix("like 14") }
            })
        #expect(server.historyRequests(of: users[0]) > calm[0]["history"] ?? 0)
        #expect(server.historyRequests(of: users[1]) == calm[1]["history"] ?? 0)
        let all = try await curious.client.conversation(room).history(.latest, limit: 100)
        #expect(all.messages.count == 100 && all.gap == nil && all.messages.first?.text == "host 400")
        for watcher in watchers { watcher.stop() }
        await server.close()
    }

    @Test("A slow client skips low-priority messages and receives the room's head once it has caught up")
    func slowClientReceivesTheHead() async throws {
        let server = try TestServer(users: ["host"])
        try await server.makeRoom("lobby")
        let watcher = Watcher(try await server.client("fan"), in: room)
        #expect(try await eventually { await watcher.isLive })
        try await sendMessage("first", .normal, in: server)
        #expect(try await eventually { watcher.texts == ["first"] })
        server.setSlow(true, "fan")
        try await sendMessage("spared", .low, in: server)
        try await sendMessage("second", .normal, in: server)
        try await sendMessage("spared too", .low, in: server)
        #expect(try await eventually { watcher.texts == ["first", "second"] && watcher.gaps == 1 })
        let before = server.requests(of: "fan")
        server.setSlow(false, "fan")
        #expect(try await eventually { watcher.gaps == 2 })
        try await sendMessage("third", .low, in: server)
        #expect(try await eventually { watcher.texts == ["first", "second", "third"] })
        #expect(server.requests(of: "fan") == before)
        #expect(try await watcher.client.verifyIntegrity() == [])
        watcher.stop()
        await server.close()
    }

    @Test("A full room refuses a subscriber and admits them when another one leaves")
    func full() async throws {
        let server = try TestServer()
        try await server.makeRoom("lobby", capacity: 1)
        let (alice, bob) = (try await server.client("alice"), try await server.client("bob"))
        var first: Conversation.Subscription? = alice.conversation(room).subscribe()
        for await state in try #require(first).states where state == .live { break }
        let second = bob.conversation(room).subscribe()
        for await state in second.states {
            guard case .refused(let error) = state else { continue }
            #expect(error.code == .roomFull)
            break
        }
        first = nil
        // The client asks again after about ten seconds.
        server.advance(by: 60)
        #expect(
            try await {
                for _ in 0..<120 {
                    for await state in second.states {
                        if state == .live { return true }
                        break
                    }
                    try await Task.sleep(for: .milliseconds(500))
                }
                return false
            }())
        await server.close()
    }

    @Test("The history of a room is readable without entering the room")
    func historyIsReadableFromOutside() async throws {
        let server = try TestServer(users: ["host"])
        try await server.makeRoom("lobby", capacity: 1)
        for number in 1...3 { try await sendMessage("\(number)", .normal, in: server) }
        let alice = try await server.client("alice")
        #expect(try await alice.conversation(room).history().messages.count == 3)
        try await Task.sleep(for: .milliseconds(200))
        #expect(server.requests(of: "alice")["subscribe"] == nil)
        #expect(try server.engine.store.read { try $0.memberships(of: "alice") } == [])
        await server.close()
    }
}
