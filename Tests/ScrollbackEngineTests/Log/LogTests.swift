import Foundation
import ScrollbackEngine
import ScrollbackModel
import Synchronization
import Testing

@Suite("Log")
struct LogTests {
    private let group = ConversationID.group("g")

    @Test("Places are dense from 1, times rise strictly though the clock stands, and n counts what counts")
    func places() throws {
        let world = try World()
        try world.make(group, members: ["alice"])
        var last: SendResult?
        for index in 1...50 {
            let result = try world.send(world.submission(countsUnread: index % 3 != 0), to: group, by: "alice")
            let position = try #require(result.position)
            #expect(position.seq == Seq(index))
            #expect(position.n == Int64(index - index / 3))
            if let last { #expect(result.timetoken > last.timetoken) }
            last = result
        }
        let page = try world.page(of: group, by: "alice")
        #expect(page.seqs == (1...50).reversed())
        #expect(page.messages.map(\.n) == page.seqs.map { $0 - $0 / 3 })
    }

    @Test("The same id and submission answers with the first result, and stores nothing")
    func duplicates() throws {
        let world = try World()
        try world.make(group, members: ["alice"])
        let submission = world.submission("once")
        let first = try world.send(submission, to: group, by: "alice")
        try world.send(to: group, by: "alice")
        world.clock.advance(by: 100)
        var again = try world.send(submission, to: group, by: "alice")
        #expect(again.outcome == .duplicate)
        again.outcome = .committed
        #expect(again == first)
        #expect(try world.page(of: group, by: "alice").seqs == [2, 1])
    }

    @Test("A retry is answered though its sender was put out meanwhile")
    func duplicateAfterLeaving() throws {
        let world = try World()
        try world.make(group, members: ["alice", "bob"])
        let submission = world.submission()
        let first = try world.send(submission, to: group, by: "bob")
        try world.leave(group, "bob")
        let again = try world.send(submission, to: group, by: "bob")
        #expect(again.outcome == .duplicate)
        #expect(again.position == first.position)
        #expect(refusal { try world.send(to: group, by: "bob") }?.code == .notMember)
    }

    @Test("The same id in another conversation is another message")
    func idsAreOfAConversation() throws {
        let world = try World()
        try world.make(group, members: ["alice"])
        try world.make(.group("h"), members: ["alice"])
        let submission = world.submission()
        #expect(try world.send(submission, to: group, by: "alice").outcome == .committed)
        #expect(try world.send(submission, to: .group("h"), by: "alice").outcome == .committed)
    }

    @Test("History 7: Mallory sends with Alice's message id: conflict, and Alice's row is untouched")
    func foreignID() throws {
        let world = try World()
        try world.make(group, members: ["alice", "mallory"])
        let submission = world.submission("mine")
        try world.send(submission, to: group, by: "alice")
        let before = try world.page(of: group, by: "alice")
        for attempt in [submission, world.submission("other", id: submission.id)] {
            let error = refusal { try world.send(attempt, to: group, by: "mallory") }
            #expect(error?.code == .conflict)
            #expect(error?.parameter == "id")
        }
        #expect(try world.page(of: group, by: "alice") == before)
    }

    @Test(
        "Another submission with the same id is a conflict, whichever field differs",
        arguments: [
            { $0.content = .text("other") }, { $0.content = MessageContent(known: .notice, json: $0.content.json) },
            { $0.attributes.mentions = .everyone() }, { $0.attributes.metadata = RawJSON(known: "{}") },
            { $0.attributes.extra = RawJSON(known: "{}") }, { $0.attributes.customType = "a" },
            { $0.attributes.customType = "" },
            { $0.attributes.push = RawJSON(known: "{}") }, { $0.attributes.replyTo = $0.id },
            { $0.attributes.traits.notifies = false }, { $0.attributes.mentions = .users(["bob"]) },
        ] as [@Sendable (inout Submission) -> Void])
    func conflicts(_ change: @Sendable (inout Submission) -> Void) throws {
        let world = try World()
        try world.make(group, members: ["alice"])
        let submission = world.submission("a")
        try world.send(submission, to: group, by: "alice")
        var other = submission
        change(&other)
        #expect(refusal { try world.send(other, to: group, by: "alice") }?.code == .conflict)
    }

    @Test("Fields of a submission can't be taken for one another")
    func digests() throws {
        let world = try World()
        let id = world.newID()
        func digest(_ change: (inout MessageAttributes) -> Void) -> Int64 {
            var submission = world.submission("a", id: id)
            change(&submission.attributes)
            return submission.digest
        }
        let json = RawJSON(known: "{}")
        let digests = [
            digest { _ in }, digest { $0.metadata = json }, digest { $0.extra = json }, digest { $0.push = json },
            digest { $0.customType = "{}" }, digest { $0.customType = "" },
            digest { $0.mentions = .users(["a", "b"]) },
            digest { $0.mentions = .users(["ab"]) }, digest { $0.mentions = .users(["b"], pushText: "a") },
            digest { $0.mentions = .everyone(also: ["a", "b"]) }, digest { $0.mentions = .everyone() },
            digest { $0.mentions = .everyone(pushText: "") },
        ]
        #expect(Set(digests).count == digests.count)
    }

    @Test("What is not stored has no place, is a receipt of its delivery, and leaves no trace")
    func transient() throws {
        let world = try World()
        try world.make(group, members: ["alice"])
        let result = try world.send(world.submission(type: .command), to: group, by: "alice")
        #expect(result.outcome == .delivered)
        #expect(result.position == nil)
        #expect(try world.head(group, "alice").head == 0)
        #expect(try world.page(of: group, by: "alice").messages.isEmpty)
    }

    // MARK: Batches

    /// A log whose writer stands until it is let go, so that what is submitted meanwhile is one batch.
    private final class Held: Sendable {
        let world: World
        private let gate = DispatchSemaphore(value: 0)
        let answers = Mutex<[(Int, Result<SendResult, ChatError>)]>([])
        private let group = DispatchGroup()

        init(store: (any MessageStore)? = nil) throws {
            world = try World(store: store, execution: .thread)
        }

        /// Keeps the writer busy with a job of its own.
        func hold() {
            let isHeld = DispatchSemaphore(value: 0)
            world.engine.log.submit(
                { [gate] _ in
                    isHeld.signal()
                    gate.wait()
                }, completion: { _ in })
            isHeld.wait()
        }

        func send(_ index: Int, _ submission: Submission, by user: UserID) {
            group.enter()
            world.engine.send(submission, to: .group("g"), by: Caller(user: user)) { [self] result in
                answers.withLock { $0.append((index, result)) }
                group.leave()
            }
        }

        func letGo() {
            gate.signal()
            group.wait()
        }
    }

    @Test("Of one batch, completions come in the order of the calls, and events in the order of places")
    func order() throws {
        let held = try Held()
        try held.world.make(group, members: ["alice", "bob"])
        let doors = Doors(held.world)
        let device = doors.device("bob")
        held.hold()
        for index in 0..<100 {
            held.send(index, held.world.submission("\(index)"), by: index.isMultiple(of: 3) ? "bob" : "alice")
        }
        held.letGo()
        let answers = held.answers.withLock { $0 }
        #expect(answers.map(\.0) == Array(0..<100))
        #expect(answers.map { try? $0.1.get().position?.seq } == (1...100).map { Seq($0) })
        #expect(try device.messages.map(\.seq) == Array(1...100))
        #expect(try device.texts == (0..<100).map { "\($0)" })
    }

    @Test("Of one batch, a duplicate, a conflict and a refusal are told from the rest, which go through")
    func mixedBatch() throws {
        let held = try Held()
        let world = held.world
        try world.make(group, members: ["alice", "bob"])
        let one = world.submission("one")
        let two = world.submission("two")
        held.hold()
        held.send(0, one, by: "alice")
        held.send(1, one, by: "alice")
        held.send(2, one, by: "bob")
        held.send(3, world.submission("other", id: one.id), by: "alice")
        held.send(4, world.submission("from outside"), by: "zoe")
        held.send(5, two, by: "bob")
        held.letGo()
        let answers = held.answers.withLock { $0 }.map(\.1)
        #expect(try answers[0].get().outcome == .committed)
        #expect(try answers[1].get().outcome == .duplicate)
        #expect(try answers[1].get().position == answers[0].get().position)
        #expect(refusal { _ = try answers[2].get() }?.code == .conflict)
        #expect(refusal { _ = try answers[3].get() }?.code == .conflict)
        #expect(refusal { _ = try answers[4].get() }?.code == .unknownConversation)
        #expect(try answers[5].get().position?.seq == 2)
        #expect(try world.page(of: group, by: "alice").texts == ["two", "one"])
    }

    @Test("A store that fails once fails nobody of a batch")
    func failingOnce() throws {
        let store = FailingStore()
        let held = try Held(store: store)
        try held.world.make(group, members: ["alice"])
        held.hold()
        for index in 0..<20 { held.send(index, held.world.submission("\(index)"), by: "alice") }
        store.failures.withLock { $0 = [nil, .commit] }
        held.letGo()
        #expect(store.attempts.withLock { $0 } == 23, "the group, the held job, the batch, and each of it")
        let answers = held.answers.withLock { $0 }
        #expect(answers.map(\.0) == Array(0..<20))
        #expect(answers.map { try? $0.1.get().position?.seq } == (1...20).map { Seq($0) })
        #expect(try held.world.page(of: group, by: "alice").texts == (0..<20).reversed().map { "\($0)" })
    }

    @Test("One job at which the store fails doesn't fail the others of its batch")
    func failingJob() throws {
        let store = FailingStore()
        let held = try Held(store: store)
        try held.world.make(group, members: ["alice"])
        held.hold()
        let bad = held.world.submission("bad")
        store.badID.withLock { $0 = bad.id }
        for index in 0..<10 { held.send(index, index == 4 ? bad : held.world.submission("\(index)"), by: "alice") }
        held.letGo()
        let answers = held.answers.withLock { $0 }
        #expect(answers.map(\.0) == Array(0..<10))
        #expect(answers.filter { (try? $0.1.get()) == nil }.map(\.0) == [4])
        let error = refusal { _ = try answers[4].1.get() }
        #expect(error?.code == .internalError)
        #expect(error?.isTemporary == true)
        #expect(try held.world.page(of: group, by: "alice").seqs == (1...9).reversed())
        // Sent again later it goes through.
        store.badID.withLock { $0 = nil }
        #expect(try held.world.send(bad, to: group, by: "alice").position?.seq == 10)
    }

    @Test("A full disk is told to everybody at once, and reading goes on")
    func storageFull() throws {
        let store = FailingStore()
        let held = try Held(store: store)
        try held.world.make(group, members: ["alice"])
        held.hold()
        store.failures.withLock { $0 = [nil, .full] }
        for index in 0..<10 { held.send(index, held.world.submission(), by: "alice") }
        held.letGo()
        #expect(
            held.answers.withLock { $0 }.allSatisfy { answer in refusal { _ = try answer.1.get() }?.code == .storageFull
            })
        #expect(store.attempts.withLock { $0 } == 3, "the group, the held job, and the batch once")
        #expect(try held.world.page(of: group, by: "alice").messages.isEmpty)
    }

    @Test("A change that failed leaves nothing behind, in rows, in numbers or in events")
    func rollback() throws {
        let store = FailingStore()
        let world = try World(store: store)
        try world.make(group, members: ["alice", "bob"])
        let device = Doors(world).device("bob")
        store.failures.withLock { $0 = [.commit] }
        #expect(refusal { try world.send("lost", to: group, by: "alice") }?.code == .internalError)
        #expect(try world.head(group, "alice").head == 0)
        #expect(try world.send("kept", to: group, by: "alice") == 1)
        #expect(try device.texts == ["kept"])
    }

    @Test("More than may wait is refused as overloaded, and nothing of it is lost that was taken")
    func overload() throws {
        let gate = DispatchSemaphore(value: 0)
        let isHeld = DispatchSemaphore(value: 0)
        let log = try Log(
            store: MemoryStore(generation: 1), execution: .thread, maximumQueue: 5,
            clock: { Date(timeIntervalSince1970: 1) },
            publish: { _ in })
        let answers = Mutex<[Int: ChatError?]>([:])
        let group = DispatchGroup()
        func submit(_ index: Int) {
            group.enter()
            log.submit(
                { _ in },
                completion: { (result: Result<Void, ChatError>) in
                    answers.withLock { $0[index] = .some(refusal { try result.get() }) }
                    group.leave()
                })
        }
        log.submit(
            { _ in
                isHeld.signal()
                gate.wait()
            }, completion: { (_: Result<Void, ChatError>) in })
        isHeld.wait()
        for index in 0..<8 { submit(index) }
        #expect(log.depth == 5)
        gate.signal()
        group.wait()
        let found = answers.withLock { $0 }
        for index in 0..<5 { #expect(found[index] == .some(nil)) }
        for index in 5..<8 {
            #expect(found[index]??.code == .overloaded)
            #expect(found[index]??.isTemporary == true)
            #expect(found[index]??.retryAfter == 1)
        }
    }

    @Test("Closing carries out what was submitted, and refuses what comes after")
    func closing() throws {
        let held = try Held()
        try held.world.make(group, members: ["alice"])
        for index in 0..<1_500 { held.send(index, held.world.submission(), by: "alice") }
        held.world.engine.log.close()
        #expect(held.answers.withLock { $0.count } == 1_500)
        #expect(try held.world.head(group, "alice").head == 1_500)
        let error = refusal { try held.world.send(to: group, by: "alice") }
        #expect(error?.code == .shuttingDown)
    }

    @Test("A completion may submit the next change", arguments: [Log.Execution.inline, .thread])
    func chaining(_ execution: Log.Execution) throws {
        let world = try World(execution: execution)
        try world.make(group, members: ["alice"])
        let group = DispatchGroup()
        group.enter()
        @Sendable func next(_ left: Int) {
            guard left > 0 else { return group.leave() }
            world.engine.send(world.submission(), to: .group("g"), by: Caller(user: "alice")) { _ in next(left - 1) }
        }
        next(20)
        group.wait()
        #expect(try world.head(.group("g"), "alice").head == 20)
    }

    @Test("After the clock stepped back, and after a restart, times still rise")
    func clockStepsBack() throws {
        let store = MemoryStore(generation: 1)
        let world = try World(store: store)
        try world.make(group, members: ["alice"])
        let first = try world.send(world.submission(), to: group, by: "alice")
        world.clock.advance(by: -3_600)
        let second = try world.send(world.submission(), to: group, by: "alice")
        #expect(second.timetoken > first.timetoken)
        let again = try World(store: store)
        again.clock.advance(by: -7_200)
        try again.make(.group("h"), members: ["alice"])
        let third = try again.send(world.submission(), to: .group("h"), by: "alice")
        #expect(third.timetoken > second.timetoken)
    }
}

/// A store in memory that fails when it is told to.
final class FailingStore: MessageStore {
    enum Failure { case commit, full }
    struct Broken: Error {}

    private let base = MemoryStore(generation: 0xBAD)
    /// What becomes of the next transactions; nothing for one that goes well.
    let failures = Mutex<[Failure?]>([])
    /// A message that can't be inserted.
    let badID = Mutex<MessageID?>(nil)
    let attempts = Mutex(0)

    var generation: UInt64 { base.generation }
    var moved: Int64 { get throws { base.moved } }
    var newest: Timetoken { get throws { base.newest } }

    func read<Answer>(_ body: (any StoreReader) throws -> Answer) throws -> Answer { try base.read(body) }

    func write<Answer>(_ body: (any StoreWriter, _ commit: Int64) throws -> Answer) throws -> Answer {
        attempts.withLock { $0 += 1 }
        return try base.write { writer, commit in
            let answer = try body(writer, commit)
            let failure: Failure? = failures.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            if failure == .full { throw ChatError(.storageFull, "the disk is full") }
            if failure == .commit { throw Broken() }
            // Checked at the commit, as a constraint may be: the job itself went well.
            if let bad = badID.withLock({ $0 }), let row = try writer.conversation(.group("g")),
                try writer.message(bad, in: row.number) != nil
            {
                throw Broken()
            }
            return answer
        }
    }
}
