import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import Synchronization
import Testing

@Suite("The queue of commits")
struct CommitQueueTests {
    private let group = ConversationID.group("g")

    @Test("Sequence numbers are dense, times increase even if the clock stops, and `n` counts countable messages")
    func sequenceNumbersAreDense() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice"])
        var last: SendResult?
        for index in 1...50 {
            let result = try harness.send(harness.submission(countsUnread: index % 3 != 0), to: group, by: "alice")
            let position = try #require(result.position)
            #expect(position.seq == Seq(index))
            #expect(position.countedIndex == Int64(index - index / 3))
            if let last { #expect(result.timetoken > last.timetoken) }
            last = result
        }
        let page = try harness.page(of: group, by: "alice")
        #expect(page.seqs == (1...50).reversed())
        #expect(page.messages.map(\.countedIndex) == page.seqs.map { $0 - $0 / 3 })
    }

    @Test("The same ID and submission return the first result and store nothing")
    func duplicates() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice"])
        let submission = harness.submission("once")
        let first = try harness.send(submission, to: group, by: "alice")
        try harness.send(to: group, by: "alice")
        harness.clock.advance(by: 100)
        var again = try harness.send(submission, to: group, by: "alice")
        #expect(again.outcome == .duplicate)
        again.outcome = .committed
        #expect(again == first)
        #expect(try harness.page(of: group, by: "alice").seqs == [2, 1])
    }

    @Test("A retry gets its result even if the sender was removed after the first attempt")
    func duplicateAfterLeaving() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        let submission = harness.submission()
        let first = try harness.send(submission, to: group, by: "bob")
        try harness.leave(group, "bob")
        let again = try harness.send(submission, to: group, by: "bob")
        #expect(again.outcome == .duplicate)
        #expect(again.position == first.position)
        #expect(refusal { try harness.send(to: group, by: "bob") }?.code == .notMember)
    }

    @Test("The same ID in another conversation identifies another message")
    func messageIDsAreScopedToConversations() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice"])
        try harness.make(.group("h"), members: ["alice"])
        let submission = harness.submission()
        #expect(try harness.send(submission, to: group, by: "alice").outcome == .committed)
        #expect(try harness.send(submission, to: .group("h"), by: "alice").outcome == .committed)
    }

    @Test(
        "A send with the message ID of another user is a conflict and leaves the stored message unchanged", .history(7))
    func foreignID() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "mallory"])
        let submission = harness.submission("mine")
        try harness.send(submission, to: group, by: "alice")
        let before = try harness.page(of: group, by: "alice")
        for attempt in [submission, harness.submission("other", id: submission.id)] {
            let error = refusal { try harness.send(attempt, to: group, by: "mallory") }
            #expect(error?.code == .conflict)
            #expect(error?.parameter == "id")
        }
        #expect(try harness.page(of: group, by: "alice") == before)
    }

    @Test(
        "A different submission with the same ID is a conflict, whichever field differs",
        arguments: [
            { $0.content = .text("other") }, { $0.content = MessageContent(known: .notice, json: $0.content.json) },
            { $0.attributes.mentions = .everyone() }, { $0.attributes.metadata = RawJSON(known: "{}") },
            { $0.attributes.extra = RawJSON(known: "{}") }, { $0.attributes.customType = "a" },
            { $0.attributes.customType = "" },
            { $0.attributes.push = RawJSON(known: "{}") }, { $0.attributes.replyTo = $0.id },
            { $0.attributes.traits.notifies = false }, { $0.attributes.mentions = .users(["bob"]) },
        ] as [@Sendable (inout Submission) -> Void])
    func conflicts(_ change: @Sendable (inout Submission) -> Void) throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice"])
        let submission = harness.submission("a")
        try harness.send(submission, to: group, by: "alice")
        var other = submission
        change(&other)
        #expect(refusal { try harness.send(other, to: group, by: "alice") }?.code == .conflict)
    }

    @Test("The digest distinguishes all fields of a submission")
    func digests() throws {
        let harness = try EngineHarness()
        let id = harness.newID()
        func digest(_ change: (inout MessageAttributes) -> Void) -> Int64 {
            var submission = harness.submission("a", id: id)
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

    @Test("A message that is not stored has no position, is delivered, and leaves no trace", .rows(256))
    func transient() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice"])
        let result = try harness.send(harness.submission(type: .command), to: group, by: "alice")
        #expect(result.outcome == .delivered)
        #expect(result.position == nil)
        #expect(try harness.head(group, "alice").head == 0)
        #expect(try harness.page(of: group, by: "alice").messages.isEmpty)
    }

    @Test("A completion can submit the next change", arguments: [CommitQueue.Execution.inline, .thread])
    func chaining(_ execution: CommitQueue.Execution) throws {
        let harness = try EngineHarness(execution: execution)
        try harness.make(group, members: ["alice"])
        let group = DispatchGroup()
        group.enter()
        @Sendable func next(_ left: Int) {
            guard left > 0 else { return group.leave() }
            harness.engine.send(harness.submission(), to: .group("g"), by: Caller(user: "alice")) { _ in next(left - 1)
            }
        }
        next(20)
        group.wait()
        #expect(try harness.head(.group("g"), "alice").head == 20)
    }

    @Test("Times increase after the clock steps back, and after a restart")
    func clockStepsBack() throws {
        let store = MemoryStore(generation: 1)
        let harness = try EngineHarness(store: store)
        try harness.make(group, members: ["alice"])
        let first = try harness.send(harness.submission(), to: group, by: "alice")
        harness.clock.advance(by: -3_600)
        let second = try harness.send(harness.submission(), to: group, by: "alice")
        #expect(second.timetoken > first.timetoken)
        let again = try EngineHarness(store: store)
        again.clock.advance(by: -7_200)
        try again.make(.group("h"), members: ["alice"])
        let third = try again.send(harness.submission(), to: .group("h"), by: "alice")
        #expect(third.timetoken > second.timetoken)
    }
}
