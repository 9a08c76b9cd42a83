import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import TestSupport
import Testing

/// Tests requests that set the read markers of several conversations.
@Suite("Reading several conversations")
struct BatchReadTests {
    private let names: [ConversationID] = [.group("one"), .group("two"), .group("three"), .group("four")]
    private let alice = Caller(user: "alice")

    /// Returns a harness in which alice has three unread messages from bob in each conversation.
    private func harness() throws -> EngineHarness {
        let harness = try EngineHarness()
        for name in names {
            try harness.make(name, members: ["alice", "bob"])
            for _ in 1...3 { try harness.send(to: name, by: "bob") }
        }
        return harness
    }

    private func mark(_ name: ConversationID, _ seq: Seq, in harness: EngineHarness) throws -> ReadMark {
        ReadMark(
            conversation: name, position: EpochPosition(seq: seq, epoch: try harness.head(name, "alice").state.epoch))
    }

    @Test("Each conversation gets its own result, and a refused one does not affect the others")
    func refusals() throws {
        let harness = try harness()
        var dead = try mark(names[1], 3, in: harness)
        dead.position.epoch = Epoch(rawValue: dead.position.epoch.rawValue ^ 1)
        var elsewhere = try mark(names[0], 1, in: harness)
        elsewhere.conversation = .group("nowhere")
        let marks = [
            elsewhere, try mark(names[0], 3, in: harness), dead, try mark(names[2], 9, in: harness),
            try mark(names[3], 2, in: harness),
        ]
        guard case .reads(let answers) = try harness.perform(MarkSeveralRead(marks), by: alice) else {
            Issue.record("The answer is a number.")
            return
        }
        #expect(answers.map(\.conversation) == marks.map(\.conversation))
        #expect(
            answers.map { answer -> String in
                switch answer.result {
                case .success(let summary): "\(summary.unread) at \(summary.readSeq)"
                case .failure(let error): error.code.rawValue
                }
            } == ["unknown-conversation", "0 at 3", "epoch-changed", "invalid-parameter", "1 at 2"])
        #expect(try names.map { try harness.unread($0, "alice").unread } == [0, 3, 3, 1])
    }

    @Test("A read of several conversations is one change, and the reader's other devices get it in one event")
    func batchReadIsOneEventOnOtherDevices() throws {
        let harness = try harness()
        let sessions = SessionHarness(harness)
        let (phone, tablet) = (sessions.device("alice"), sessions.device("alice", "tablet"))
        var marks = try names.map { try mark($0, 3, in: harness) }
        marks[1].conversation = .group("nowhere")
        phone.request(MarkSeveralRead(marks))
        let reads = try tablet.events.compactMap { event -> [String]? in
            if case .reads(let reads) = event { return reads.map { "\($0.conversation) \($0.summary.readSeq)" } }
            return nil
        }
        #expect(reads == [["group:one 3", "group:three 3", "group:four 3"]])
        #expect(Set(try [0, 2, 3].map { try harness.head(names[$0], "alice").userRev }).count == 1)
    }

    @Test("Unread marks include conversations that are only marked as unread, and none that are read")
    func marked() throws {
        let harness = try harness()
        for name in names { try harness.read(name, to: 3, by: "alice") }
        _ = try harness.done { harness.engine.change(names[1], .markUnread, by: alice, completion: $0) }
        try harness.send(to: names[2], by: "bob")
        let marks = try harness.engine.marks(ReadScope(), by: alice)
        #expect(Set(marks.map(\.conversation)) == [names[1], names[2]])
        try harness.perform(MarkSeveralRead(marks), by: alice)
        #expect(try harness.head(names[1], "alice").isMarkedUnread == false)
        #expect(try harness.engine.marks(ReadScope(), by: alice).isEmpty)
    }
}
