import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization
import TestSupport
import Testing

@Suite("The writer's queue")
struct WriterQueueTests {
    @Test("Each user has a bound, and the queue has one for all")
    func bounds() {
        var queue = WriterQueue<Int>(maximumCount: 10, maximumOwnCount: 3)
        for number in 0..<3 { #expect(queue.append(number, of: .user("flood")) == nil) }
        #expect(queue.append(3, of: .user("flood")) == .owner)
        #expect(queue.append(4, of: .user("alice")) == nil)
        for number in 5..<11 {
            #expect(queue.append(number, of: number.isMultiple(of: 2) ? .server : .administrator("root")) == nil)
        }
        #expect(queue.append(11, of: .user("alice")) == .total)
        #expect(queue.append(12, of: .server) == .total)
        #expect(queue.takeBatch(limit: 4).count == 4)
        #expect(queue.append(13, of: .user("flood")) == nil)
    }

    @Test("A barrier follows all earlier writes of all users, and delays no later write")
    func barrier() {
        var queue = WriterQueue<String>(maximumCount: 100, maximumOwnCount: 100)
        for number in 0..<3 { _ = queue.append("flood \(number)", of: .user("flood")) }
        queue.appendBarrier("barrier")
        _ = queue.append("flood 3", of: .user("flood"))
        _ = queue.append("alice", of: .user("alice"))
        #expect(queue.takeBatch(limit: 2) == ["flood 0", "alice"])
        #expect(queue.takeBatch(limit: 9) == ["flood 1", "flood 2", "barrier", "flood 3"])
        queue.appendBarrier("idle")
        #expect(queue.count == 1)
        #expect(queue.takeBatch(limit: 9) == ["idle"])
        #expect(queue.takeBatch(limit: 9) == [])
    }

    @Test("After elements are put back, the owners that were not served are next")
    func turnsAfterPutBack() {
        var queue = WriterQueue<String>(maximumCount: 100, maximumOwnCount: 100)
        for number in 0..<3 { _ = queue.append("flood \(number)", of: .user("flood")) }
        #expect(queue.takeBatch(limit: 9).count == 3)
        _ = queue.append("alice", of: .user("alice"))
        queue.putBack(2)
        #expect(queue.takeBatch(limit: 9) == ["alice", "flood 1", "flood 2"])
        _ = queue.append("bob", of: .user("bob"))
        queue.putBack(3)
        #expect(queue.takeBatch(limit: 9) == ["alice", "flood 1", "bob", "flood 2"])
    }

    @Test("Elements that are put back come before later ones of their owner, and the next owner has a turn")
    func putBack() {
        var queue = WriterQueue<String>(maximumCount: 100, maximumOwnCount: 100)
        for number in 0..<4 { _ = queue.append("flood \(number)", of: .user("flood")) }
        queue.appendBarrier("barrier")
        #expect(queue.takeBatch(limit: 9).count == 5)
        _ = queue.append("flood 4", of: .user("flood"))
        _ = queue.append("alice", of: .user("alice"))
        queue.putBack(4)
        #expect(queue.count == 6)
        #expect(queue.takeBatch(limit: 2) == ["flood 1", "alice"])
        queue.putBack(0)
        queue.putBack(1)
        #expect(queue.takeBatch(limit: 9) == ["flood 2", "flood 3", "barrier", "flood 4"])
    }

    @Test("In random histories, barriers keep their place and owners their order")
    func seeds() {
        for seed in Seeds.range(300) {
            var random = SplitMix64(seed: seed)
            var queue = WriterQueue<Int>(maximumCount: .max, maximumOwnCount: .max)
            var (owners, barriers): ([Int: Int], Set<Int>) = ([:], [])
            var taken: [Int] = []
            for number in 0..<150 {
                if Int.random(in: 0..<8, using: &random) == 0 {
                    queue.appendBarrier(number)
                    barriers.insert(number)
                } else {
                    let owner = Int.random(in: 0..<4, using: &random)
                    _ = queue.append(number, of: .user(UserID(known: "\(owner)")))
                    owners[number] = owner
                }
                if Int.random(in: 0..<10, using: &random) == 0 {
                    let batch = queue.takeBatch(limit: Int.random(in: 1...20, using: &random))
                    let count = Int.random(in: 0...batch.count / 2, using: &random)
                    queue.putBack(count)
                    taken += batch.dropLast(count)
                }
            }
            while case let batch = queue.takeBatch(limit: 7), !batch.isEmpty { taken += batch }
            #expect(taken.sorted() == Array(0..<150), "seed \(seed)")
            for owner in 0..<4 {
                let own = taken.filter { owners[$0] == owner }
                #expect(own == own.sorted(), "seed \(seed): the order of an owner")
            }
            for (index, number) in taken.enumerated() where barriers.contains(number) {
                #expect(Set(0..<number).isSubset(of: taken[..<index]), "seed \(seed): a barrier came too early")
            }
        }
    }

    // MARK: In the engine

    /// Blocks the writer thread until `release` is signalled.
    private func hold(_ harness: EngineHarness, until release: DispatchSemaphore) {
        let isHeld = DispatchSemaphore(value: 0)
        harness.engine.commits.submit(
            for: .server, { _ in },
            completion: { (_: Result<Void, ChatError>) in
                isHeld.signal()
                release.wait()
            })
        isHeld.wait()
    }

    @Test("A user's 5,000 waiting writes delay another user's message by one write")
    func flood() throws {
        let harness = try EngineHarness(execution: .thread)
        let group = ConversationID.group("g")
        try harness.make(group, members: ["alice", "mallory"])
        let sessions = SessionHarness(harness)
        let (mallory, alice) = (sessions.device("mallory"), sessions.device("alice"))
        let release = DispatchSemaphore(value: 0)
        hold(harness, until: release)
        for _ in 0..<5_000 { mallory.request(MarkUnread(conversation: group)) }
        let order = Mutex<[String]>([])
        let message = alice.request(SendMessage(conversation: group, submission: harness.submission("hi")))
        harness.engine.commits.waitForSubmitted { _ in order.withLock { $0.append("all") } }
        release.signal()
        harness.engine.commits.close()
        #expect(try alice.error(message) == nil)
        #expect(order.withLock { $0 } == ["all"])
        // Each device of the user receives the answers in the order of the commits.
        let answers = try mallory.transport.frames.compactMap { frame -> (ref: Int64, isRefusal: Bool)? in
            switch frame {
            case .result(let ref, _): (ref, false)
            case .error(let ref?, let error): (ref, error.code == .rateLimited)
            default: nil
            }
        }
        #expect(answers.count { $0.isRefusal } == 4_000, "the part of the queue that one user may fill is 1,000")
        let done = answers.filter { !$0.isRefusal }.map(\.ref)
        #expect(done == Array(1...1_000))
        #expect(harness.engine.commits.refusals.owner == 4_000)
    }

    @Test(
        "When the time of a batch is over, the writes of other users come before the rest of a flood",
        arguments: [
            ExecutedBatches(time: .zero, writeCounts: [1, 1, 1, 1, 1]),
            ExecutedBatches(time: .seconds(3_600), writeCounts: [1, 4]),
        ])
    func batchTime(_ expected: ExecutedBatches) throws {
        let order = Mutex<[String]>([])
        let writeCounts = Mutex<[Int]>([])
        let commits = try CommitQueue(
            store: MemoryStore(generation: 1), execution: .thread, batchTime: expected.time, clock: { Date() },
            publish: { _, _ in }, observe: { report in writeCounts.withLock { $0.append(report.writeCount) } })
        let (isRunning, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        func submit(_ name: String, for user: UserID, _ body: @escaping @Sendable () -> Void = {}) {
            commits.submit(
                for: .user(user), { _ in body() },
                completion: { (_: Result<Void, ChatError>) in order.withLock { $0.append(name) } })
        }
        submit("first", for: "mallory") {
            isRunning.signal()
            release.wait()
        }
        isRunning.wait()
        for number in 0..<3 { submit("flood \(number)", for: "mallory") }
        submit("message", for: "alice")
        release.signal()
        commits.close()
        #expect(writeCounts.withLock { $0 } == expected.writeCounts)
        #expect(order.withLock { $0 } == ["first", "flood 0", "message", "flood 1", "flood 2"])
    }

    @Test("If a transaction fails whose time was over, the writes that did not begin are not lost")
    func failureAfterBatchTime() throws {
        let fails = Mutex(false)
        let done = Mutex<[String]>([])
        let commits = try CommitQueue(
            store: MemoryStore(generation: 1), execution: .thread, batchTime: .milliseconds(100), clock: { Date() },
            publish: { _, _ in },
            recordOutbound: { _ in
                let failing = fails.withLock { value in
                    defer { value = false }
                    return value
                }
                if failing { throw ChatError(.internalError, "The store failed.") }
                return OutboundSummary()
            })
        let (isRunning, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        func submit(_ name: String, _ body: @escaping @Sendable () -> Void = {}) {
            commits.submit(
                for: .user("mallory"), { _ in body() },
                completion: { (result: Result<Void, ChatError>) in
                    if case .success = result { done.withLock { $0.append(name) } }
                })
        }
        submit("first") {
            isRunning.signal()
            release.wait()
        }
        isRunning.wait()
        submit("a")
        // The first transaction calls `recordOutbound` before this one begins, so only this one fails.
        submit("b") {
            fails.withLock { $0 = true }
            Thread.sleep(forTimeInterval: 0.15)
        }
        for name in ["c", "d"] { submit(name) }
        release.signal()
        commits.close()
        #expect(Set(done.withLock { $0 }).isSuperset(of: ["first", "c", "d"]))
    }

    struct ExecutedBatches: Sendable {
        var time: Duration
        var writeCounts: [Int]
    }

    @Test("The message of a user is in the batch of the first write of another user's flood")
    func firstBatch() throws {
        let order = Mutex<[String]>([])
        let harness = try EngineHarness(execution: .thread)
        let release = DispatchSemaphore(value: 0)
        hold(harness, until: release)
        for number in 0..<1_000 {
            harness.engine.commits.submit(
                for: .user("mallory"), { _ in },
                completion: { (_: Result<Void, ChatError>) in order.withLock { $0.append("\(number)") } })
        }
        harness.engine.commits.submit(
            for: .user("alice"), { _ in },
            completion: { (_: Result<Void, ChatError>) in order.withLock { $0.append("alice") } })
        release.signal()
        harness.engine.commits.close()
        #expect(order.withLock { $0.firstIndex(of: "alice") } == 1)
        #expect(order.withLock { $0.filter { $0 != "alice" } } == (0..<1_000).map { "\($0)" })
    }
}
