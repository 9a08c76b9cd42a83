import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization
import Testing

@Suite("Batches of a commit queue")
struct BatchTests {
    private let group = ConversationID.group("g")

    /// A log whose writer is blocked until `release()`, so that all changes submitted before form one batch.
    private final class BlockedLog: Sendable {
        let harness: EngineHarness
        private let gate = DispatchSemaphore(value: 0)
        let answers = Mutex<[(Int, Result<SendResult, ChatError>)]>([])
        private let group = DispatchGroup()

        init(store: (any MessageStore)? = nil) throws {
            harness = try EngineHarness(store: store, execution: .thread)
        }

        /// Blocks the writer thread in the completion of a job, so that the store can still be read.
        func hold() {
            let isHeld = DispatchSemaphore(value: 0)
            harness.engine.commits.submit(
                for: .server,
                { _ in },
                completion: { [gate] (_: Result<Void, ChatError>) in
                    isHeld.signal()
                    gate.wait()
                })
            isHeld.wait()
        }

        func send(_ index: Int, _ submission: Submission, by user: UserID) {
            group.enter()
            harness.engine.send(submission, to: .group("g"), by: Caller(user: user)) { [self] result in
                answers.withLock { $0.append((index, result)) }
                group.leave()
            }
        }

        func release() {
            gate.signal()
            group.wait()
        }
    }

    @Test("In a batch, completions run in the order of a user's calls, and events follow the sequence numbers")
    func order() throws {
        let blocked = try BlockedLog()
        try blocked.harness.make(group, members: ["alice", "bob"])
        let sessions = SessionHarness(blocked.harness)
        let device = sessions.device("bob")
        blocked.hold()
        for index in 0..<100 {
            blocked.send(index, blocked.harness.submission("\(index)"), by: "alice")
        }
        blocked.release()
        let answers = blocked.answers.withLock { $0 }
        #expect(answers.map(\.0) == Array(0..<100))
        #expect(answers.map { try? $0.1.get().position?.seq } == (1...100).map { Seq($0) })
        #expect(try device.messages.map(\.seq) == Array(1...100))
        #expect(try device.texts == (0..<100).map { "\($0)" })
    }

    @Test("A duplicate, a conflict and a refusal in a batch do not affect its other messages")
    func mixedBatch() throws {
        let blocked = try BlockedLog()
        let harness = blocked.harness
        try harness.make(group, members: ["alice", "bob"])
        let one = harness.submission("one")
        let two = harness.submission("two")
        blocked.hold()
        blocked.send(0, one, by: "alice")
        blocked.send(1, one, by: "alice")
        blocked.send(2, one, by: "bob")
        blocked.send(3, harness.submission("other", id: one.id), by: "alice")
        blocked.send(4, harness.submission("from outside"), by: "zoe")
        blocked.send(5, two, by: "bob")
        blocked.release()
        // Users take turns, so the answers are in another order than the calls.
        let answers = blocked.answers.withLock { $0 }.sorted { $0.0 < $1.0 }.map(\.1)
        #expect(try answers[0].get().outcome == .committed)
        #expect(try answers[1].get().outcome == .duplicate)
        #expect(try answers[1].get().position == answers[0].get().position)
        #expect(refusal { _ = try answers[2].get() }?.code == .conflict)
        #expect(refusal { _ = try answers[3].get() }?.code == .conflict)
        #expect(refusal { _ = try answers[4].get() }?.code == .unknownConversation)
        #expect(try answers[5].get().position?.seq == 2)
        #expect(try harness.page(of: group, by: "alice").texts == ["two", "one"])
    }

    @Test("A batch whose commit fails once is retried, and all of its messages succeed")
    func failedCommitIsRetried() throws {
        let store = FailingStore()
        let blocked = try BlockedLog(store: store)
        try blocked.harness.make(group, members: ["alice"])
        blocked.hold()
        for index in 0..<20 { blocked.send(index, blocked.harness.submission("\(index)"), by: "alice") }
        store.failures.withLock { $0 = [.commit] }
        blocked.release()
        #expect(store.attempts.withLock { $0 } == 24, "the incarnation, group, held job, batch and its messages")
        let answers = blocked.answers.withLock { $0 }
        #expect(answers.map(\.0) == Array(0..<20))
        #expect(answers.map { try? $0.1.get().position?.seq } == (1...20).map { Seq($0) })
        #expect(try blocked.harness.page(of: group, by: "alice").texts == (0..<20).reversed().map { "\($0)" })
    }

    @Test("A message that fails the commit does not fail the other messages of its batch", .rows(172))
    func failingJob() throws {
        let store = FailingStore()
        let blocked = try BlockedLog(store: store)
        try blocked.harness.make(group, members: ["alice"])
        blocked.hold()
        let bad = blocked.harness.submission("bad")
        store.badID.withLock { $0 = bad.id }
        for index in 0..<10 {
            blocked.send(index, index == 4 ? bad : blocked.harness.submission("\(index)"), by: "alice")
        }
        blocked.release()
        let answers = blocked.answers.withLock { $0 }
        #expect(answers.map(\.0) == Array(0..<10))
        #expect(answers.filter { (try? $0.1.get()) == nil }.map(\.0) == [4])
        let error = refusal { _ = try answers[4].1.get() }
        #expect(error?.code == .internalError)
        #expect(error?.isTemporary == true)
        #expect(try blocked.harness.page(of: group, by: "alice").seqs == (1...9).reversed())
        // A later retry succeeds.
        store.badID.withLock { $0 = nil }
        #expect(try blocked.harness.send(bad, to: group, by: "alice").position?.seq == 10)
    }

    @Test("A full disk fails the whole batch without retries, and reads continue")
    func storageFull() throws {
        let store = FailingStore()
        let blocked = try BlockedLog(store: store)
        try blocked.harness.make(group, members: ["alice"])
        blocked.hold()
        store.failures.withLock { $0 = [.full] }
        for index in 0..<10 { blocked.send(index, blocked.harness.submission(), by: "alice") }
        blocked.release()
        #expect(
            blocked.answers.withLock { $0 }.allSatisfy { answer in
                refusal { _ = try answer.1.get() }?.code == .storageFull
            })
        #expect(store.attempts.withLock { $0 } == 4, "the incarnation, the group, the held job, and the batch once")
        #expect(try blocked.harness.page(of: group, by: "alice").messages.isEmpty)
    }

    @Test("A failed change leaves no rows, sequence numbers or events behind")
    func rollback() throws {
        let store = FailingStore()
        let harness = try EngineHarness(store: store)
        try harness.make(group, members: ["alice", "bob"])
        let device = SessionHarness(harness).device("bob")
        store.failures.withLock { $0 = [.commit] }
        #expect(refusal { try harness.send("lost", to: group, by: "alice") }?.code == .internalError)
        #expect(try harness.head(group, "alice").head == 0)
        #expect(try harness.send("kept", to: group, by: "alice") == 1)
        #expect(try device.texts == ["kept"])
    }

    @Test("Changes above the queue limit are refused as overloaded, and the accepted ones complete")
    func overload() throws {
        let gate = DispatchSemaphore(value: 0)
        let isHeld = DispatchSemaphore(value: 0)
        let commits = try CommitQueue(
            store: MemoryStore(generation: 1), execution: .thread, maximumQueue: 5,
            clock: { Date(timeIntervalSince1970: 1) },
            publish: { _, _ in })
        let answers = Mutex<[Int: ChatError?]>([:])
        let group = DispatchGroup()
        func submit(_ index: Int) {
            group.enter()
            commits.submit(
                for: .server,
                { _ in },
                completion: { (result: Result<Void, ChatError>) in
                    answers.withLock { $0[index] = .some(refusal { try result.get() }) }
                    group.leave()
                })
        }
        commits.submit(
            for: .server,
            { _ in
                isHeld.signal()
                gate.wait()
            }, completion: { (_: Result<Void, ChatError>) in })
        isHeld.wait()
        for index in 0..<8 { submit(index) }
        #expect(commits.depth == 5)
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
        let blocked = try BlockedLog()
        try blocked.harness.make(group, members: ["alice"])
        for index in 0..<900 { blocked.send(index, blocked.harness.submission(), by: "alice") }
        blocked.harness.engine.commits.close()
        #expect(blocked.answers.withLock { $0.count } == 900)
        #expect(try blocked.harness.head(group, "alice").head == 900)
        let error = refusal { try blocked.harness.send(to: group, by: "alice") }
        #expect(error?.code == .shuttingDown)
    }

    @Test("A retry while the first attempt waits in a batch stores one row, and both answers agree", .history(9))
    func retryInWaitingBatchStoresOneRow() throws {
        let blocked = try BlockedLog()
        let harness = blocked.harness
        try harness.make(group, members: ["alice", "bob", "carol"])
        let sessions = SessionHarness(harness)
        let (first, bob) = (sessions.device("alice"), sessions.device("bob"))
        let submission = harness.submission("once")
        blocked.hold()
        blocked.send(0, harness.submission("before"), by: "carol")
        let sent = first.request(SendMessage(conversation: group, submission: submission))
        blocked.send(1, harness.submission("between"), by: "carol")
        first.session.disconnected()
        let second = sessions.device("alice")
        let retried = second.request(SendMessage(conversation: group, submission: submission))
        blocked.send(2, harness.submission("after"), by: "carol")
        blocked.release()

        var answers = try [(first, sent), (second, retried)].map { device, ref in
            try device.answer(ref) { try SendResult(from: &$0) }
        }
        #expect(answers.map(\.outcome) == [.committed, .duplicate])
        answers[1].outcome = .committed
        #expect(answers[0] == answers[1])
        #expect(try harness.page(of: group, by: "bob").texts == ["after", "between", "once", "before"])
        #expect(
            try blocked.answers.withLock { $0 }.map { try $0.1.get().outcome } == [.committed, .committed, .committed])
        #expect(try bob.texts == ["before", "once", "between", "after"], "bob receives the message once")
        #expect(
            try second.texts == ["before", "once", "between", "after"], "the retry's connection receives it too")
    }

    @Test("A refusal by an unreachable webhook does not run the other changes of its batch again")
    func webhookRefusalDoesNotRepeatTheBatch() throws {
        let blocked = try BlockedLog()
        let runs = Mutex(0)
        let commits = blocked.harness.engine.commits
        blocked.hold()
        commits.submit(
            for: .server, { _ in runs.withLock { $0 += 1 } }, completion: { (_: Result<Void, ChatError>) in })
        let answer = Mutex<ChatError?>(nil)
        commits.submit(
            for: .server,
            { _ in throw ChatError(.overloaded, "The webhook can't be reached.") },
            completion: { (result: Result<Void, ChatError>) in
                if case .failure(let error) = result { answer.withLock { $0 = error } }
            })
        blocked.release()
        commits.close()
        #expect(runs.withLock { $0 } == 1)
        #expect(answer.withLock { $0 }?.code == .overloaded)
    }

    @Test("Two changes of the settings in one batch both take effect")
    func settingsChangesInOneBatch() throws {
        let blocked = try BlockedLog()
        let engine = blocked.harness.engine
        blocked.hold()
        engine.putSettings(by: EngineHarness.admin, completion: { _ in }, { $0.allowsHistory = false })
        engine.putSettings(by: EngineHarness.admin, completion: { _ in }, { $0.openUploads = 7 })
        blocked.release()
        engine.commits.close()
        #expect(!engine.settings.allowsHistory && engine.settings.openUploads == 7)
        let restarted = try EngineHarness(store: blocked.harness.store)
        #expect(restarted.engine.settings == engine.settings)
    }

    @Test("A message in the same batch as a webhook change follows the setting at its position in the batch")
    func webhookChangeAppliesAtItsPosition() throws {
        let blocked = try BlockedLog()
        try blocked.harness.make(group, members: ["alice"])
        let (engine, store) = (blocked.harness.engine, blocked.harness.store)
        func setAndSend(_ hook: WebhookSettings.After?) {
            blocked.hold()
            blocked.send(0, blocked.harness.submission("before"), by: "alice")
            engine.putSettings(by: EngineHarness.admin, completion: { _ in }, { $0.moderation.webhooks.after = hook })
            blocked.send(1, blocked.harness.submission("after"), by: "alice")
            blocked.release()
        }
        setAndSend(.init(url: "http://hook.invalid", secret: "0123456789abcdef"))
        let rows = try store.read { try $0.deliveries(to: "after", of: 1, limit: 9) }
        #expect(rows.contains { $0.body.text.contains("after") })
        #expect(engine.pendingDeliveries > 0)
        setAndSend(nil)
        #expect(try store.read { try $0.deliveryCount() } == 0)
        #expect(engine.pendingDeliveries == 0)
    }
}
