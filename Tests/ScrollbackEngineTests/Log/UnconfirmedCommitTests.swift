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

    @Test func `A change succeeds whose commit turns out to have succeeded`() throws {
        store.failures.withLock { $0 = [.lostAnswer] }
        #expect(try harness.send("hello", to: group, by: "alice") == 1)
        #expect(try device.texts == ["hello"])
    }

    @Test func `A change whose commit turns out to have failed fails as overloaded, and changes nothing`() throws {
        store.failures.withLock { $0 = [.lostCommit] }
        #expect(refusal { try harness.send("lost", to: group, by: "alice") }?.code == .overloaded)
        #expect(try harness.send("kept", to: group, by: "alice") == 1)
        #expect(try device.texts == ["kept"])
    }

    @Test func `While the outcome is unknown nothing else is written, and later the events are sent in order`() throws {
        store.failures.withLock { $0 = [.lostAnswer] }
        store.canAnswer.withLock { $0 = false }
        let first = harness.submission("first")
        #expect(refusal { _ = try harness.send(first, to: group, by: "alice") }?.code == .timeout)
        #expect(refusal { try harness.send("refused", to: group, by: "alice") }?.code == .overloaded)
        #expect(try device.texts.isEmpty)
        store.canAnswer.withLock { $0 = true }
        #expect(try harness.send("second", to: group, by: "alice") == 2)
        #expect(try device.texts == ["first", "second"])
        #expect(try harness.send(first, to: group, by: "alice").position?.seq == 1)
    }

    @Test func `Nothing is announced of a change whose commit turns out later to have failed`() throws {
        store.failures.withLock { $0 = [.lostCommit] }
        store.canAnswer.withLock { $0 = false }
        #expect(refusal { try harness.send("lost", to: group, by: "alice") }?.code == .timeout)
        store.canAnswer.withLock { $0 = true }
        #expect(try harness.send("kept", to: group, by: "alice") == 1)
        #expect(try device.texts == ["kept"])
    }

    @Test func `The outcome becomes known without a further change`() async throws {
        let harness = try EngineHarness(store: store, execution: .thread)
        let device = SessionHarness(harness).device("bob")
        store.failures.withLock { $0 = [.lostAnswer] }
        store.canAnswer.withLock { $0 = false }
        #expect(refusal { try harness.send("late", to: group, by: "alice") }?.code == .timeout)
        store.canAnswer.withLock { $0 = true }
        #expect(try await eventually { try device.texts == ["late"] })
    }
}
