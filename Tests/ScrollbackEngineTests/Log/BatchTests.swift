import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization
import Testing

@Suite("Batches of the log")
struct BatchTests {
    private let group = ConversationID.group("g")

    /// A log whose writer is blocked until `letGo()`, so that all changes submitted before form one batch.
    private final class Held: Sendable {
        let world: World
        private let gate = DispatchSemaphore(value: 0)
        let answers = Mutex<[(Int, Result<SendResult, ChatError>)]>([])
        private let group = DispatchGroup()

        init(store: (any MessageStore)? = nil) throws {
            world = try World(store: store, execution: .thread)
        }

        /// Blocks the writer thread in the completion of a job, so that the store can still be read.
        func hold() {
            let isHeld = DispatchSemaphore(value: 0)
            world.engine.log.submit(
                { _ in },
                completion: { [gate] (_: Result<Void, ChatError>) in
                    isHeld.signal()
                    gate.wait()
                })
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

    @Test("In a batch, completions run in the order of the calls, and events follow the sequence numbers")
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

    @Test("A duplicate, a conflict and a refusal in a batch do not affect its other messages")
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

    @Test("A batch whose commit fails once is retried, and all of its messages succeed")
    func failingOnce() throws {
        let store = FailingStore()
        let held = try Held(store: store)
        try held.world.make(group, members: ["alice"])
        held.hold()
        for index in 0..<20 { held.send(index, held.world.submission("\(index)"), by: "alice") }
        store.failures.withLock { $0 = [.commit] }
        held.letGo()
        #expect(store.attempts.withLock { $0 } == 23, "the group, the held job, the batch, and each of its messages")
        let answers = held.answers.withLock { $0 }
        #expect(answers.map(\.0) == Array(0..<20))
        #expect(answers.map { try? $0.1.get().position?.seq } == (1...20).map { Seq($0) })
        #expect(try held.world.page(of: group, by: "alice").texts == (0..<20).reversed().map { "\($0)" })
    }

    @Test("A message that fails the commit does not fail the other messages of its batch")
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
        // A later retry succeeds.
        store.badID.withLock { $0 = nil }
        #expect(try held.world.send(bad, to: group, by: "alice").position?.seq == 10)
    }

    @Test("A full disk fails the whole batch without retries, and reads continue")
    func storageFull() throws {
        let store = FailingStore()
        let held = try Held(store: store)
        try held.world.make(group, members: ["alice"])
        held.hold()
        store.failures.withLock { $0 = [.full] }
        for index in 0..<10 { held.send(index, held.world.submission(), by: "alice") }
        held.letGo()
        #expect(
            held.answers.withLock { $0 }.allSatisfy { answer in refusal { _ = try answer.1.get() }?.code == .storageFull
            })
        #expect(store.attempts.withLock { $0 } == 3, "the group, the held job, and the batch once")
        #expect(try held.world.page(of: group, by: "alice").messages.isEmpty)
    }

    @Test("A failed change leaves no rows, sequence numbers or events behind")
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

    @Test("Changes above the queue limit are refused as overloaded, and the accepted ones complete")
    func overload() throws {
        let gate = DispatchSemaphore(value: 0)
        let isHeld = DispatchSemaphore(value: 0)
        let log = try Log(
            store: MemoryStore(generation: 1), execution: .thread, maximumQueue: 5,
            clock: { Date(timeIntervalSince1970: 1) },
            publish: { _, _ in })
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

    @Test("Closing the log completes all submitted changes and refuses later ones")
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

    @Test("A retry while the first attempt waits in a batch stores one row, and both answers agree", .history(9))
    func retriedWhileWaiting() throws {
        let held = try Held()
        let world = held.world
        try world.make(group, members: ["alice", "bob", "carol"])
        let doors = Doors(world)
        let (first, bob) = (doors.device("alice"), doors.device("bob"))
        let submission = world.submission("once")
        held.hold()
        held.send(0, world.submission("before"), by: "carol")
        let sent = first.request(SendMessage(conversation: group, submission: submission))
        held.send(1, world.submission("between"), by: "carol")
        first.session.disconnected()
        let second = doors.device("alice")
        let retried = second.request(SendMessage(conversation: group, submission: submission))
        held.send(2, world.submission("after"), by: "carol")
        held.letGo()

        var answers = try [(first, sent), (second, retried)].map { device, ref in
            try device.answer(ref) { try SendResult(from: &$0) }
        }
        #expect(answers.map(\.outcome) == [.committed, .duplicate])
        answers[1].outcome = .committed
        #expect(answers[0] == answers[1])
        #expect(try world.page(of: group, by: "bob").texts == ["after", "between", "once", "before"])
        #expect(
            try held.answers.withLock { $0 }.map { try $0.1.get().outcome } == [.committed, .committed, .committed])
        #expect(try bob.texts == ["before", "once", "between", "after"], "bob receives the message once")
        #expect(
            try second.texts == ["before", "once", "between", "after"], "the retry's connection receives it too")
    }

    @Test("A refusal by an unreachable webhook does not run the other changes of its batch again")
    func overloadedInABatch() throws {
        let held = try Held()
        let runs = Mutex(0)
        let log = held.world.engine.log
        held.hold()
        log.submit({ _ in runs.withLock { $0 += 1 } }, completion: { (_: Result<Void, ChatError>) in })
        let answer = Mutex<ChatError?>(nil)
        log.submit(
            { _ in throw ChatError(.overloaded, "The webhook can't be reached.") },
            completion: { (result: Result<Void, ChatError>) in
                if case .failure(let error) = result { answer.withLock { $0 = error } }
            })
        held.letGo()
        log.close()
        #expect(runs.withLock { $0 } == 1)
        #expect(answer.withLock { $0 }?.code == .overloaded)
    }

    @Test("Two changes of the settings in one batch both take effect")
    func twoSettings() throws {
        let held = try Held()
        let engine = held.world.engine
        held.hold()
        engine.putSettings(by: World.admin, completion: { _ in }, { $0.allowsHistory = false })
        engine.putSettings(by: World.admin, completion: { _ in }, { $0.openUploads = 7 })
        held.letGo()
        engine.log.close()
        #expect(!engine.settings.allowsHistory && engine.settings.openUploads == 7)
        let restarted = try World(store: held.world.store)
        #expect(restarted.engine.settings == engine.settings)
    }

    @Test("A message in the same batch as a webhook change follows the setting at its position in the batch")
    func webhooksInABatch() throws {
        let held = try Held()
        try held.world.make(group, members: ["alice"])
        let (engine, store) = (held.world.engine, held.world.store)
        func setAndSend(_ hook: WebhookSettings.After?) {
            held.hold()
            held.send(0, held.world.submission("before"), by: "alice")
            engine.putSettings(by: World.admin, completion: { _ in }, { $0.manners.webhooks.after = hook })
            held.send(1, held.world.submission("after"), by: "alice")
            held.letGo()
        }
        setAndSend(.init(url: "http://hook.invalid", secret: "0123456789abcdef"))
        #expect(try store.read { try $0.deliveries(of: 1, limit: 9) }.contains { $0.body.text.contains("after") })
        #expect(engine.waitingDeliveries > 0)
        setAndSend(nil)
        #expect(try store.read { try $0.deliveryCount() } == 0)
        #expect(engine.waitingDeliveries == 0)
    }
}
