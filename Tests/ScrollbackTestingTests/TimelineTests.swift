import Foundation
import Scrollback
import ScrollbackTesting
import Testing

@Suite("Timelines")
struct TimelineTests {
    private let group = ConversationID.group("swift")

    /// Creates a world with a group to which Bob sent this many messages.
    private func world(saying count: Int) async throws -> (world: ChatWorld, alice: ChatClient, bob: ChatClient) {
        let world = try ChatWorld()
        try await world.makeGroup("swift", members: ["alice", "bob"])
        let bob = try await world.client("bob")
        try await say(1...count, bob)
        return (world, try await world.client("alice"), bob)
    }

    private func say(_ numbers: ClosedRange<Int>, _ client: ChatClient) async throws {
        for number in numbers { try await client.conversation(group).send(.text("\(number)")) }
        await client.flushed()
    }

    @Test("A timeline follows the newest messages, holds at most twice its window, and can return to the end")
    func scrollsBothWays() async throws {
        let (world, alice, bob) = try await world(saying: 50)
        let screen = Screen(alice.conversation(group).timeline(window: 10))
        try await screen.shows { $0.numbers == Array(41...50) && $0.isAtNewest && $0.hasOlder }
        try await screen.timeline.loadOlder()
        try await screen.shows { $0.numbers == Array(36...50) && $0.isAtNewest }
        try await say(51...52, bob)
        try await screen.shows { $0.numbers == Array(38...52) }
        try await screen.timeline.loadOlder()
        try await screen.shows { $0.numbers == Array(33...52) && $0.isAtNewest }
        for _ in 1...10 { try await screen.timeline.loadOlder() }
        try await screen.shows { $0.numbers == Array(1...20) && !$0.isAtNewest && !$0.hasOlder }
        try await say(53...54, bob)
        for _ in 1...8 { try await screen.timeline.loadNewer() }
        try await screen.shows { $0.numbers == Array(35...54) && $0.isAtNewest }
        #expect(try await alice.verifyIntegrity() == [])
        await world.close()
    }

    @Test("A timeline at the first unread message keeps its position when messages are read or arrive")
    func firstUnread() async throws {
        let (world, alice, bob) = try await world(saying: 30)
        let chat = alice.conversation(group)
        let read = try await chat.history(.around(.seq(20), before: 0, after: 0)).messages[0]
        try await chat.markRead(upTo: read.id)
        let screen = Screen(chat.timeline(at: .firstUnread, window: 10))
        try await screen.shows { $0.numbers == Array(16...25) && $0.firstUnreadNumber == 21 && !$0.isAtNewest }
        try await chat.markRead()
        try await say(31...33, bob)
        try await screen.shows { $0.numbers == Array(16...25) && $0.firstUnread == nil }
        await world.close()
    }

    @Test("A timeline at a first unread message near the end follows new messages")
    func firstUnreadNearTheEnd() async throws {
        let (world, alice, bob) = try await world(saying: 30)
        let chat = alice.conversation(group)
        let read = try await chat.history(.around(.seq(28), before: 0, after: 0)).messages[0]
        try await chat.markRead(upTo: read.id)
        let screen = Screen(chat.timeline(at: .firstUnread, window: 10))
        try await screen.shows { $0.numbers.last == 30 && $0.firstUnreadNumber == 29 && $0.isAtNewest }
        try await say(31...33, bob)
        try await screen.shows { $0.numbers.last == 33 && $0.firstUnreadNumber == 29 && $0.isAtNewest }
        await world.close()
    }

    @Test("A conversation shorter than the window keeps all of its messages after loading older ones")
    func shorterThanItsWindow() async throws {
        let (world, alice, bob) = try await world(saying: 3)
        let screen = Screen(alice.conversation(group).timeline(window: 10))
        try await screen.shows { $0.numbers == [1, 2, 3] }
        try await screen.timeline.loadOlder()
        try await say(4...6, bob)
        try await screen.shows { $0.numbers == Array(1...6) }
        await world.close()
    }

    @Test("A timeline at a message that only the server has shows the newest messages until it is online")
    func seeks() async throws {
        let (world, alice, _) = try await world(saying: 300)
        let newest = Screen(alice.conversation(group).timeline(window: 10))
        try await newest.shows { $0.numbers == Array(291...300) }
        world.goOffline("alice")
        let far = try world.messages(in: group)[99]
        let screen = Screen(alice.conversation(group).timeline(at: .id(far.id), window: 10))
        try await screen.shows { $0.isAtNewest && $0.numbers.last == 300 }
        world.goOnline("alice")
        try await screen.shows { $0.numbers == Array(95...104) }
        try await newest.shows { $0.numbers == Array(291...300) }
        await #expect(throws: ChatError.self) { try await screen.timeline.jump(to: .id(MessageID(UUID()))) }
        try await screen.timeline.jump(to: .date(far.sentAt))
        try await screen.shows { $0.numbers.contains(100) && $0.numbers.count >= 9 }
        await world.close()
    }

    @Test("Visible messages stay in the window while new messages arrive")
    func visibleStays() async throws {
        let (world, alice, bob) = try await world(saying: 30)
        let screen = Screen(alice.conversation(group).timeline(window: 20))
        let view = try await screen.shows { $0.numbers == Array(11...30) }
        screen.timeline.setVisible(from: view.items[2].id, to: view.items[5].id)
        try await say(31...80, bob)
        let later = try await screen.shows { !$0.isAtNewest }
        #expect(Set(13...16).isSubset(of: later.numbers))
        #expect(later.numbers.count <= 40)
        screen.timeline.setVisible(from: "no such item", to: later.items[0].id)
        try await screen.timeline.jump(to: .latest)
        try await screen.shows { $0.numbers == Array(61...80) && $0.isAtNewest }
        await world.close()
    }

    @Test("The smallest window holds two messages from any start position")
    func smallest() async throws {
        let (world, alice, bob) = try await world(saying: 30)
        let chat = alice.conversation(group)
        world.goOffline("alice")
        let seeking = Screen(chat.timeline(at: .id(MessageID(UUID())), window: 2))
        try await seeking.shows { $0.numbers == [30] && $0.isAtNewest }
        world.goOnline("alice")
        let screen = Screen(chat.timeline(window: 2))
        let view = try await screen.shows { $0.numbers == [29, 30] }
        try await seeking.shows { $0.numbers == [29, 30] }
        screen.timeline.setVisible(from: view.items[0].id, to: view.items[1].id)
        try await say(31...31, bob)
        try await screen.shows { $0.numbers == [29, 30, 31] }
        try await screen.timeline.loadOlder()
        try await screen.shows { $0.numbers.first == 28 && $0.numbers.count <= 4 }
        await world.close()
    }

    @Test("A queued message is the last item and keeps its identity after it is sent")
    func pendingStaysItself() async throws {
        let (world, alice, _) = try await world(saying: 1)
        let screen = Screen(alice.conversation(group).timeline())
        try await screen.shows { $0.numbers == [1] }
        world.goOffline("alice")
        let sending = try await alice.conversation(group).send(.text("2"))
        let queued = try await screen.shows { view in
            if case .pending = view.items.last { view.items.count == 2 } else { false }
        }
        world.goOnline("alice")
        let sent = try await screen.shows { $0.numbers == [1, 2] }
        #expect(queued.items.map(\.id) == sent.items.map(\.id))
        #expect(queued.items.last?.id == sending.id.description)
        await world.close()
    }

    @Test("A timeline shows the profiles of senders and picks up a changed name later")
    func people() async throws {
        let world = try ChatWorld(users: ["bob"])
        try await world.makeGroup("swift", members: ["alice", "bob", "carol"])
        let alice = try await world.client("alice")
        for user in ["bob", "carol"] as [UserID] {
            let client = try await world.client(user)
            _ = try await client.conversation(group).send(.text("1")).delivered()
        }
        let screen = Screen(alice.conversation(group).timeline())
        let view = try await screen.shows { $0.people["bob"]?.name == "Bob" && $0.items.count == 2 }
        #expect(view.people["carol"]?.name == nil)
        world.goOffline("alice")
        try await screen.shows { $0.people["bob"]?.name == "Bob" }
        try await world.setName("Robert", of: "bob")
        world.advance(by: 4000)
        world.goOnline("alice")
        try await screen.shows { $0.people["bob"]?.name == "Robert" }
        await world.close()
    }

    @Test("An empty conversation has an empty timeline, which fills with new messages")
    func empty() async throws {
        let world = try ChatWorld()
        let alice = try await world.client("alice")
        let bob = try await world.client("bob")
        let screen = Screen(alice.conversation(.direct("bob")).timeline(at: .firstUnread, window: 2))
        try await screen.shows { $0.items.isEmpty && $0.isAtNewest && !$0.hasOlder }
        try await screen.timeline.loadOlder()
        try await bob.conversation(.direct("alice")).send(.text("1"))
        try await screen.shows { $0.numbers == [1] }
        await world.close()
    }
}

/// Observes a timeline as a screen would.
private struct Screen {
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
