import Foundation
import Scrollback
import ScrollbackTesting
import ScrollbackWire
import TestSupport
import Testing

@Suite("Timelines")
struct TimelineTests {
    private let group = ConversationID.group("swift")

    /// Creates a server with a group to which Bob sent this many messages.
    private func server(messages count: Int) async throws -> (server: TestServer, alice: ChatClient, bob: ChatClient) {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let bob = try await server.client("bob")
        try await sendMessages(1...count, bob)
        return (server, try await server.client("alice"), bob)
    }

    private func sendMessages(_ numbers: ClosedRange<Int>, _ client: ChatClient) async throws {
        for number in numbers { try await client.conversation(group).send(.text("\(number)")) }
        await client.waitForOutbox()
    }

    @Test("A timeline follows the newest messages, holds at most twice its window, and can return to the end")
    func scrollsBothWays() async throws {
        let (server, alice, bob) = try await server(messages: 50)
        let observer = TimelineObserver(alice.conversation(group).timeline(window: 10))
        try await observer.shows { $0.numbers == Array(41...50) && $0.isAtNewest && $0.hasOlder }
        try await observer.timeline.loadOlder()
        try await observer.shows { $0.numbers == Array(36...50) && $0.isAtNewest }
        try await sendMessages(51...52, bob)
        try await observer.shows { $0.numbers == Array(38...52) }
        try await observer.timeline.loadOlder()
        try await observer.shows { $0.numbers == Array(33...52) && $0.isAtNewest }
        for _ in 1...10 { try await observer.timeline.loadOlder() }
        try await observer.shows { $0.numbers == Array(1...20) && !$0.isAtNewest && !$0.hasOlder }
        try await sendMessages(53...54, bob)
        for _ in 1...8 { try await observer.timeline.loadNewer() }
        try await observer.shows { $0.numbers == Array(35...54) && $0.isAtNewest }
        #expect(try await alice.verifyIntegrity() == [])
        await server.close()
    }

    @Test("A timeline at the first unread message keeps its position when messages are read or arrive")
    func firstUnread() async throws {
        let (server, alice, bob) = try await server(messages: 30)
        let chat = alice.conversation(group)
        let read = try await chat.history(.around(.seq(20), before: 0, after: 0)).messages[0]
        try await chat.markRead(upTo: read.id)
        let observer = TimelineObserver(chat.timeline(at: .firstUnread, window: 10))
        try await observer.shows { $0.numbers == Array(16...25) && $0.firstUnreadNumber == 21 && !$0.isAtNewest }
        try await chat.markRead()
        try await sendMessages(31...33, bob)
        try await observer.shows { $0.numbers == Array(16...25) && $0.firstUnread == nil }
        await server.close()
    }

    @Test("The first unread message follows a read that the server has not received yet")
    func firstUnreadAfterPendingRead() async throws {
        let (server, _, _) = try await server(messages: 300)
        let held = HeldTransport(requests: { $0.type == "read" })
        held.hold()
        let alice = try await server.client("alice", configure: held.use)
        let chat = alice.conversation(group)
        let read = try await chat.history(.around(.seq(120), before: 0, after: 0)).messages[0]
        try await chat.markRead(upTo: read.id)
        #expect(try await eventually { held.heldCount == 1 })
        let observer = TimelineObserver(chat.timeline(at: .firstUnread, window: 10))
        try await observer.shows { $0.numbers == Array(116...125) && $0.firstUnreadNumber == 121 }
        // A page that begins in a gap which is longer than a page.
        let far = try await chat.history(.around(.seq(200), before: 0, after: 0)).messages[0]
        try await chat.markRead(upTo: far.id)
        let page = try await chat.history(.around(.firstUnread, before: 1, after: 2), sort: .oldestFirst)
        #expect(page.messages.map(\.seq) == [200, 201, 202, 203])
        #expect(page.remoteError == nil)
        held.release()
        try await observer.shows { $0.firstUnread == nil }
        await server.close()
    }

    @Test("A timeline at a first unread message near the end follows new messages")
    func firstUnreadNearTheEnd() async throws {
        let (server, alice, bob) = try await server(messages: 30)
        let chat = alice.conversation(group)
        let read = try await chat.history(.around(.seq(28), before: 0, after: 0)).messages[0]
        try await chat.markRead(upTo: read.id)
        let observer = TimelineObserver(chat.timeline(at: .firstUnread, window: 10))
        try await observer.shows { $0.numbers.last == 30 && $0.firstUnreadNumber == 29 && $0.isAtNewest }
        try await sendMessages(31...33, bob)
        try await observer.shows { $0.numbers.last == 33 && $0.firstUnreadNumber == 29 && $0.isAtNewest }
        await server.close()
    }

    @Test("A conversation shorter than the window keeps all of its messages after loading older ones")
    func shorterThanItsWindow() async throws {
        let (server, alice, bob) = try await server(messages: 3)
        let observer = TimelineObserver(alice.conversation(group).timeline(window: 10))
        try await observer.shows { $0.numbers == [1, 2, 3] }
        try await observer.timeline.loadOlder()
        try await sendMessages(4...6, bob)
        try await observer.shows { $0.numbers == Array(1...6) }
        await server.close()
    }

    /// Returns Alice's timeline of the newest 200 of 300 messages, whose further requests of history are held.
    private func timelineWithHeldRequests() async throws -> (TestServer, ChatClient, TimelineObserver, HeldTransport) {
        let (server, _, bob) = try await server(messages: 300)
        let held = HeldTransport(requests: { $0.type == "history" })
        let alice = try await server.client("alice", configure: held.use)
        let observer = TimelineObserver(alice.conversation(group).timeline(window: 200))
        try await observer.shows { $0.numbers == Array(101...300) }
        held.hold()
        return (server, bob, observer, held)
    }

    @Test("A timeline follows the newest messages even if some arrive while older ones are loaded")
    func newMessagesWhileLoading() async throws {
        let (server, bob, observer, held) = try await timelineWithHeldRequests()
        async let loaded: Void = observer.timeline.loadOlder()
        #expect(try await eventually { held.heldCount == 1 })
        try await sendMessages(301...302, bob)
        try await observer.shows { $0.numbers == Array(103...302) }
        held.release()
        try await loaded
        try await observer.shows { $0.numbers == Array(1...302) && $0.isAtNewest }
        await server.close()
    }

    @Test("A jump while older messages are loaded determines the window")
    func jumpWhileLoading() async throws {
        let (server, _, observer, held) = try await timelineWithHeldRequests()
        async let loaded: Void = observer.timeline.loadOlder()
        #expect(try await eventually { held.heldCount == 1 })
        try await observer.timeline.jump(to: .id(server.messages(in: group)[149].id))
        try await observer.shows { !$0.isAtNewest }
        held.release()
        try await loaded
        try await observer.shows { $0.numbers.count == 200 && !$0.isAtNewest }
        await server.close()
    }

    @Test("A timeline at a message that only the server has shows the newest messages until it is online")
    func seeks() async throws {
        let (server, alice, _) = try await server(messages: 300)
        let newest = TimelineObserver(alice.conversation(group).timeline(window: 10))
        try await newest.shows { $0.numbers == Array(291...300) }
        server.goOffline("alice")
        let far = try server.messages(in: group)[99]
        let observer = TimelineObserver(alice.conversation(group).timeline(at: .id(far.id), window: 10))
        try await observer.shows { $0.isAtNewest && $0.numbers.last == 300 }
        server.goOnline("alice")
        try await observer.shows { $0.numbers == Array(95...104) }
        try await newest.shows { $0.numbers == Array(291...300) }
        await #expect(throws: ChatError.self) { try await observer.timeline.jump(to: .id(MessageID(UUID()))) }
        try await observer.timeline.jump(to: .date(far.sentAt))
        try await observer.shows { $0.numbers.contains(100) && $0.numbers.count >= 9 }
        await server.close()
    }

    @Test("Visible messages stay in the window while new messages arrive")
    func visibleStays() async throws {
        let (server, alice, bob) = try await server(messages: 30)
        let observer = TimelineObserver(alice.conversation(group).timeline(window: 20))
        let view = try await observer.shows { $0.numbers == Array(11...30) }
        observer.timeline.setVisible(from: view.items[2].id, to: view.items[5].id)
        try await sendMessages(31...80, bob)
        let later = try await observer.shows { !$0.isAtNewest }
        #expect(Set(13...16).isSubset(of: later.numbers))
        #expect(later.numbers.count <= 40)
        observer.timeline.setVisible(from: "no such item", to: later.items[0].id)
        try await observer.timeline.jump(to: .latest)
        try await observer.shows { $0.numbers == Array(61...80) && $0.isAtNewest }
        await server.close()
    }

    @Test("The smallest window holds two messages from any start position")
    func smallest() async throws {
        let (server, alice, bob) = try await server(messages: 30)
        let chat = alice.conversation(group)
        server.goOffline("alice")
        let seeking = TimelineObserver(chat.timeline(at: .id(MessageID(UUID())), window: 2))
        try await seeking.shows { $0.numbers == [30] && $0.isAtNewest }
        server.goOnline("alice")
        let observer = TimelineObserver(chat.timeline(window: 2))
        let view = try await observer.shows { $0.numbers == [29, 30] }
        try await seeking.shows { $0.numbers == [29, 30] }
        observer.timeline.setVisible(from: view.items[0].id, to: view.items[1].id)
        try await sendMessages(31...31, bob)
        try await observer.shows { $0.numbers == [29, 30, 31] }
        try await observer.timeline.loadOlder()
        try await observer.shows { $0.numbers.first == 28 && $0.numbers.count <= 4 }
        await server.close()
    }

    @Test("A queued message is the last item and keeps its identity after it is sent")
    func queuedMessageKeepsItsIdentity() async throws {
        let (server, alice, _) = try await server(messages: 1)
        let observer = TimelineObserver(alice.conversation(group).timeline())
        try await observer.shows { $0.numbers == [1] }
        server.goOffline("alice")
        let sending = try await alice.conversation(group).send(.text("2"))
        let queued = try await observer.shows { view in
            if case .pending = view.items.last { view.items.count == 2 } else { false }
        }
        server.goOnline("alice")
        let sent = try await observer.shows { $0.numbers == [1, 2] }
        #expect(queued.items.map(\.id) == sent.items.map(\.id))
        #expect(queued.items.last?.id == sending.id.description)
        await server.close()
    }

    @Test("A timeline shows the profiles of senders and picks up a changed name later")
    func people() async throws {
        let server = try TestServer(users: ["bob"])
        try await server.makeGroup("swift", members: ["alice", "bob", "carol"])
        let alice = try await server.client("alice")
        for user in ["bob", "carol"] as [UserID] {
            let client = try await server.client(user)
            _ = try await client.conversation(group).send(.text("1")).waitUntilSent()
        }
        let observer = TimelineObserver(alice.conversation(group).timeline())
        let view = try await observer.shows { $0.profiles["bob"]?.name == "Bob" && $0.items.count == 2 }
        #expect(view.profiles["carol"]?.name == nil)
        server.goOffline("alice")
        try await observer.shows { $0.profiles["bob"]?.name == "Bob" }
        try await server.setName("Robert", of: "bob")
        server.advance(by: 4000)
        server.goOnline("alice")
        try await observer.shows { $0.profiles["bob"]?.name == "Robert" }
        await server.close()
    }

    @Test("An empty conversation has an empty timeline, which fills with new messages")
    func empty() async throws {
        let server = try TestServer()
        let alice = try await server.client("alice")
        let bob = try await server.client("bob")
        let observer = TimelineObserver(alice.conversation(.direct("bob")).timeline(at: .firstUnread, window: 2))
        try await observer.shows { $0.items.isEmpty && $0.isAtNewest && !$0.hasOlder }
        try await observer.timeline.loadOlder()
        try await bob.conversation(.direct("alice")).send(.text("1"))
        try await observer.shows { $0.numbers == [1] }
        await server.close()
    }
}

/// Observes a timeline as a observer would.
private struct TimelineObserver {
    let timeline: Timeline

    init(_ timeline: Timeline) {
        self.timeline = timeline
    }

    /// Waits for a view that meets the condition.
    @discardableResult
    func shows(
        _ isRight: @escaping @Sendable (Timeline.View) -> Bool, at location: SourceLocation = #_sourceLocation
    ) async throws -> Timeline.View {
        let last = Latest()
        let found = Task { [timeline] () -> Timeline.View? in
            for await view in timeline.views {
                await last.keep(view)
                if isRight(view) { return view }
            }
            return nil
        }
        let timeout = Task {
            try await Task.sleep(for: .seconds(90))
            found.cancel()
        }
        defer { timeout.cancel() }
        if let view = await found.value { return view }
        Issue.record(
            "The timeline did not show the expected view. The last view was \(await last.text).",
            sourceLocation: location)
        throw CancellationError()
    }

    private actor Latest {
        var text = "no view"

        func keep(_ view: Timeline.View) {
            text = "\(view.numbers), newest \(view.isAtNewest), older \(view.hasOlder), \(view.items.count) items"
        }
    }
}

extension Timeline.View {
    /// The texts of the messages as numbers.
    fileprivate var numbers: [Int] {
        items.compactMap { if case .message(let message) = $0 { message.text.flatMap { Int($0) } } else { nil } }
    }

    fileprivate var firstUnreadNumber: Int? {
        items.lazy.compactMap { if case .message(let message) = $0 { message } else { nil } }
            .first { $0.id == firstUnread }?.text.flatMap { Int($0) }
    }
}
