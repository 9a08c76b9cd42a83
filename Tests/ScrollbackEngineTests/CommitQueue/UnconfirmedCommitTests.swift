import ScrollbackEngine
import ScrollbackModel
import Synchronization
import TestSupport
import Testing

/// Commits whose answer is lost, which happens with databases on other machines.
@Suite struct UnconfirmedCommitTests {
    private let group = ConversationID.group("g")
    private let store = FailingStore()
    private let harness: EngineHarness
    private let device: Device

    init() throws {
        harness = try EngineHarness(store: store)
        try harness.make(group, members: ["alice", "bob"])
        device = SessionHarness(harness).device("bob")
    }

    @Test func `A change succeeds if its unconfirmed commit succeeded`() throws {
        store.failures.withLock { $0 = [.lostAnswer] }
        #expect(try harness.send("hello", to: group, by: "alice") == 1)
        #expect(try device.texts == ["hello"])
    }

    @Test func `A change fails as overloaded if its unconfirmed commit failed, and changes nothing`() throws {
        store.failures.withLock { $0 = [.lostCommit] }
        #expect(refusal { try harness.send("lost", to: group, by: "alice") }?.code == .overloaded)
        #expect(try harness.send("kept", to: group, by: "alice") == 1)
        #expect(try device.texts == ["kept"])
    }

    /// Sends a message, and returns where its answer will be.
    private func begin(_ submission: Submission, _ harness: EngineHarness) -> Answer {
        let answer = Answer()
        harness.engine.send(submission, to: group, by: Caller(user: "alice")) { result in
            answer.result.withLock { $0 = result }
        }
        return answer
    }

    private final class Answer: Sendable {
        let result = Mutex<Result<SendResult, ChatError>?>(nil)

        var seq: Seq? { try? result.withLock { $0 }?.get().position?.seq }
        var code: ChatError.Code? { refusal { _ = try result.withLock { $0 }?.get() }?.code }
    }

    @Test func `While the outcome is unknown nothing else is written, and later the events are sent in order`() throws {
        store.failures.withLock { $0 = [.lostAnswer] }
        store.canAnswer.withLock { $0 = false }
        let first = harness.submission("first")
        let answer = begin(first, harness)
        #expect(refusal { try harness.send("refused", to: group, by: "alice") }?.code == .overloaded)
        #expect(answer.result.withLock { $0 == nil })
        #expect(try device.texts.isEmpty)
        store.canAnswer.withLock { $0 = true }
        #expect(try harness.send("second", to: group, by: "alice") == 2)
        #expect(answer.seq == 1)
        #expect(try device.texts == ["first", "second"])
        #expect(try harness.send(first, to: group, by: "alice").position?.seq == 1)
    }

    @Test func `A change fails if its commit turns out later to have failed`() throws {
        store.failures.withLock { $0 = [.lostCommit] }
        store.canAnswer.withLock { $0 = false }
        let answer = begin(harness.submission("lost"), harness)
        store.canAnswer.withLock { $0 = true }
        #expect(try harness.send("kept", to: group, by: "alice") == 1)
        #expect(answer.code == .overloaded)
        #expect(try device.texts == ["kept"])
    }

    @Test func `The outcome becomes known without a further change`() async throws {
        let harness = try EngineHarness(store: store, execution: .thread)
        let device = SessionHarness(harness).device("bob")
        store.failures.withLock { $0 = [.lostAnswer] }
        store.canAnswer.withLock { $0 = false }
        let answer = begin(harness.submission("late"), harness)
        store.canAnswer.withLock { $0 = true }
        #expect(try await eventually { answer.seq == 1 })
        #expect(try device.texts == ["late"])
    }

    @Test func `A change whose outcome is unknown when the server stops fails as a timeout`() throws {
        store.failures.withLock { $0 = [.lostAnswer] }
        store.canAnswer.withLock { $0 = false }
        let answer = begin(harness.submission("unknown"), harness)
        harness.engine.commits.close()
        #expect(answer.code == .timeout)
    }
}
