import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("Threads")
struct ThreadTests {
    private let group = ConversationID.group("g")
    private let harness: EngineHarness

    init() throws {
        harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob", "carol"])
    }

    private func send(
        _ text: String = "hi", by user: UserID = "alice", replyTo: MessageID? = nil, mentions: Mentions? = nil
    ) throws -> MessageID {
        var message = harness.submission(text, mentions: mentions)
        message.attributes.replyTo = replyTo
        try harness.send(message, to: group, by: user)
        return message.id
    }

    private func threads(
        by user: UserID, followed: Bool = false, before: Timetoken? = nil, limit: Int = 100
    ) throws -> ListThreads.Answer {
        try harness.engine.threads(
            of: group, isFollowed: followed, before: before, limit: limit, by: Caller(user: user))
    }

    private func state(_ thread: MessageID, _ user: UserID) throws -> ThreadState {
        try #require(try threads(by: user).threads.first { $0.id == thread }).state
    }

    private func counts(_ thread: MessageID, _ user: UserID) throws -> Counts {
        let state = try state(thread, user)
        return Counts(state.unread, state.mentions)
    }

    @discardableResult
    private func change(
        _ thread: MessageID, followed: Bool? = nil, seq: Seq? = nil, by user: UserID
    ) throws -> ThreadState {
        let epoch = try harness.head(group, user).state.epoch
        let change = ThreadChange(isFollowed: followed, read: seq.map { EpochPosition(seq: $0, epoch: epoch) })
        return try harness.perform(
            ChangeThread(conversation: group, thread: thread, change), by: Caller(user: user))
    }

    @Test("The list has the threads with the newest reply first, in pages, with the parent and the last reply")
    func list() throws {
        let (one, two, three) = (try send("one"), try send("two"), try send("three"))
        for root in [one, two, three] { _ = try send("reply to \(root)", by: "bob", replyTo: root) }
        let last = try send("again", by: "bob", replyTo: one)
        let page = try threads(by: "alice")
        #expect(page.threads.map(\.id) == [one, three, two] && page.next == nil)
        #expect(page.threads[0].parent.text == "one" && page.threads[0].parent.replies?.count == 2)
        #expect(page.threads[0].lastReply?.id == last)
        var pages: [[MessageID]] = []
        var next: Timetoken?
        repeat {
            let page = try threads(by: "alice", before: next, limit: 2)
            pages.append(page.threads.map(\.id))
            next = page.next
        } while next != nil
        #expect(pages == [[one, three], [two]])
        #expect(refusal { _ = try threads(by: "alice", limit: 0) }?.parameter == "limit")
        #expect(refusal { _ = try threads(by: "mallory") }?.code == .unknownConversation)
    }

    @Test("Members follow the threads that they begin, reply in, or are mentioned in by name")
    func following() throws {
        let root = try send()
        _ = try send(by: "bob", replyTo: root, mentions: .everyone())
        #expect(try state(root, "alice").isFollowed && state(root, "bob").isFollowed)
        #expect(try !state(root, "carol").isFollowed)
        _ = try send(by: "bob", replyTo: root, mentions: .users(["carol", "mallory"]))
        #expect(try state(root, "carol").isFollowed)
        // A user who stopped following is not brought back by a mention or a reply of others, but by their own reply.
        for user in ["alice", "carol"] as [UserID] {
            #expect(try change(root, followed: false, by: user).isFollowed == false)
        }
        _ = try send(by: "bob", replyTo: root, mentions: .users(["alice", "carol"]))
        #expect(try !state(root, "alice").isFollowed && !state(root, "carol").isFollowed)
        #expect(try threads(by: "carol", followed: true).threads.isEmpty)
        _ = try send(by: "carol", replyTo: root)
        #expect(try threads(by: "carol", followed: true).threads.map(\.id) == [root])
        #expect(try change(root, followed: true, by: "alice").isFollowed)
        try harness.join(group, "mallory")
        #expect(try threads(by: "mallory").threads.isEmpty)
    }

    @Test("Replies of others are unread until the thread or the conversation is read, and mentions as well")
    func unread() throws {
        let (root, other) = (try send(), try send())
        let first = try send(by: "bob", replyTo: root, mentions: .users(["alice"]))
        _ = try send(by: "alice", replyTo: root)
        _ = try send(by: "bob", replyTo: other, mentions: .everyone())
        _ = try send(by: "carol", replyTo: root)
        #expect(try counts(root, "alice") == Counts(2, 1) && counts(other, "alice") == Counts(1, 1))
        #expect(try harness.unread(group, "alice") == Counts(3, 2))
        // A nested reply belongs to the thread of the reply.
        _ = try send(by: "bob", replyTo: first)
        #expect(try counts(root, "alice") == Counts(3, 1))
        #expect(try change(root, seq: 3, by: "alice").readSeq == 3)
        #expect(try counts(root, "alice") == Counts(2, 0) && counts(other, "alice") == Counts(1, 1))
        // The position never moves down.
        #expect(try change(root, seq: 1, by: "alice").unread == 2)
        #expect(try change(root, seq: 7, by: "alice").unread == 0)
        #expect(try harness.unread(group, "alice") == Counts(4, 2))
        try harness.read(group, to: 5, by: "alice")
        #expect(try counts(other, "alice") == Counts(0, 0))
        _ = try send(by: "bob", replyTo: root)
        #expect(try counts(root, "alice") == Counts(1, 0))
        #expect(refusal { try change(root, seq: 99, by: "alice") }?.parameter == "seq")
        #expect(refusal { try change(first, followed: true, by: "alice") }?.code == .unknownMessage)
        #expect(refusal { try change(harness.newID(), followed: true, by: "alice") }?.code == .unknownMessage)
    }

    @Test("Recalled and hidden replies are not unread, and a thread without replies is not listed")
    func deleted() throws {
        let root = try send()
        let replies = try (1...4).map { try send("\($0)", by: "bob", replyTo: root, mentions: .users(["alice"])) }
        try harness.delete(replies[0], in: group, by: Caller(user: "bob"))
        try harness.hide([replies[3]], in: group, by: "alice")
        #expect(try counts(root, "alice") == Counts(2, 2) && counts(root, "carol").unread == 3)
        // The user can't see the newest reply.
        #expect(try threads(by: "alice").threads[0].lastReply == nil)
        #expect(try threads(by: "carol").threads[0].lastReply?.id == replies[3])
        try harness.delete([replies[2], replies[3]], in: group, by: Caller(user: "bob"))
        #expect(try counts(root, "alice") == Counts(1, 1))
        #expect(try threads(by: "alice").threads[0].lastReply?.id == replies[1])
        // A recalled first message still has its thread.
        try harness.delete(root, in: group, by: Caller(user: "alice"))
        #expect(try counts(root, "alice") == Counts(1, 1))
        try harness.delete(replies[1], in: group, by: Caller(user: "bob"))
        #expect(try threads(by: "alice").threads.isEmpty)
    }

    @Test("A thread whose first message was removed leaves nothing in the store")
    func removed() async throws {
        let root = try send()
        let reply = try send(by: "bob", replyTo: root)
        try harness.delete(DeleteRange(from: nil, to: .seq(2)), of: group)
        #expect(try threads(by: "bob").threads.isEmpty)
        _ = try await harness.engine.sweep()
        _ = try send(by: "carol", replyTo: reply)
        try harness.store.read { (store) throws in
            for user in ["alice", "bob", "carol"] as [UserID] {
                #expect(try store.threadStates(of: user, in: 1, after: nil, limit: 9).isEmpty)
            }
            #expect(try store.count(.replies(root), in: 1...9, of: 1) == 0)
        }
    }

    @Test("Former members don't list threads, and members who joined later don't see earlier ones")
    func membership() throws {
        let root = try send()
        _ = try send(by: "bob", replyTo: root)
        try harness.leave(group, "carol")
        #expect(refusal { _ = try threads(by: "carol") }?.code == .notMember)
        #expect(refusal { try change(root, followed: true, by: "carol") }?.code == .notMember)
        try harness.join(group, "dave")
        _ = try send(by: "bob", replyTo: root, mentions: .users(["dave"]))
        #expect(try threads(by: "dave").threads.isEmpty)
        let admin = try harness.engine.threads(of: group, limit: 9, by: EngineHarness.admin)
        #expect(admin.threads.map(\.state.unread) == [0])
        // The user is a member again, and what happened before is read.
        try harness.join(group, "carol")
        #expect(try counts(root, "carol") == Counts(0, 0))
    }

    @Test("A room has threads, which nobody follows")
    func room() throws {
        let room = ConversationID.room("r")
        try harness.put(room)
        let message = harness.submission("hi")
        try harness.send(message, to: room, by: "alice")
        var reply = harness.submission("hello")
        reply.attributes.replyTo = message.id
        try harness.send(reply, to: room, by: "bob")
        let found = try harness.engine.threads(of: room, limit: 9, by: Caller(user: "alice")).threads
        #expect(found.map(\.id) == [message.id])
        #expect(
            found[0].state == ThreadState(thread: message.id, isFollowed: false, readSeq: 0, unread: 0, mentions: 0))
        let error = refusal {
            try harness.perform(
                ChangeThread(conversation: room, thread: message.id, ThreadChange(isFollowed: true)),
                by: Caller(user: "alice"))
        }
        #expect(error?.parameter == "conversation")
    }

    @Test("A change of a thread goes to the user's devices only, and only if it changes anything")
    func events() throws {
        let root = try send()
        _ = try send(by: "bob", replyTo: root)
        let sessions = SessionHarness(harness)
        let (phone, tablet, other) = (
            sessions.device("alice"), sessions.device("alice", "tablet"), sessions.device("bob")
        )
        func states(_ device: Device) throws -> [ThreadState] {
            try device.events.compactMap { if case .thread(group, let state) = $0 { state } else { nil } }
        }
        phone.request(
            ChangeThread(conversation: group, thread: root, ThreadChange(isFollowed: false)))
        try change(root, followed: false, by: "alice")
        let read = try change(root, seq: 2, by: "alice")
        for device in [phone, tablet] {
            #expect(try states(device).map(\.isFollowed) == [false, false])
            #expect(try states(device).last == read && read.unread == 0)
        }
        #expect(try states(other).isEmpty)
    }
}
