import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("Sync of logs")
struct LogSyncTests {
    private let group = ConversationID.group("g")

    @Test("After 100,000 missed messages, the answer is limited, and every reconnect makes progress", .history(21))
    func everyReconnectMakesProgress() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice"])
        try harness.fill(group, 10)
        let state = try harness.head(group, "alice").state
        var position = LogPosition(conversation: group, epoch: state.epoch, view: state.view, seq: 10, rev: 0)
        try harness.fill(group, 100_000)
        let caller = Caller(user: "alice")
        let sync = try harness.engine.syncLogs([position], by: caller)[0].result.get()
        #expect(sync.page.messages.count == 100)
        #expect(sync.page.coverage == Coverage(lower: 99_911, upper: 100_010))
        #expect(sync.page.state.head == 100_010)
        // After this answer, the client is up to date and has a gap below.
        position.seq = sync.page.coverage.upper
        let empty = try harness.engine.syncLogs([position], by: caller)[0].result.get()
        #expect(empty.page.messages.isEmpty)
        #expect(empty.page.coverage.range == nil)
        for missed in [1, 499, 500, 501, 100_000] {
            position.seq = 100_010 - Seq(missed)
            let answer = try harness.engine.syncLogs([position], by: caller)[0].result.get()
            #expect(answer.page.messages.count == (missed <= 500 ? missed : 100))
            #expect(answer.page.coverage.upper == 100_010)
            #expect(
                answer.page.messages.map(\.seq) == answer.page.messages.map(\.seq).sorted(),
                "the oldest message comes first")
        }
    }

    @Test("An answer for many logs has at most 2,000 messages, and the head of each log", .history(21))
    func answersForManyLogsAreLimited() throws {
        let harness = try EngineHarness()
        var positions: [LogPosition] = []
        // More messages of the last log were missed than are replayed.
        let heads: [Seq] = [400, 400, 400, 400, 400, 400, 400, 400, 700]
        for (index, head) in heads.enumerated() {
            let id = ConversationID.group(Identifier(known: "g\(index)"))
            try harness.make(id, members: ["alice"])
            try harness.fill(id, Int(head))
            let epoch = try harness.head(id, "alice").state.epoch
            positions.append(LogPosition(conversation: id, epoch: epoch, view: 0, seq: 0, rev: 0))
        }
        let caller = Caller(user: "alice")
        var rounds = 0
        var found: [[Seq]] = positions.map { _ in [] }
        while positions.map(\.seq) != heads {
            let answers = try harness.engine.syncLogs(positions, by: caller)
            #expect(answers.map(\.conversation) == positions.map(\.conversation))
            var count = 0
            let before = positions.map(\.seq)
            for (index, answer) in answers.enumerated() {
                let page = try answer.result.get().page
                #expect(page.state.head == heads[index])
                count += page.messages.count
                found[index] += page.seqs
                // Like a client, which continues after the covered range.
                positions[index].seq = max(positions[index].seq, page.coverage.upper)
            }
            #expect(count <= 2_000)
            #expect(positions.map(\.seq) != before, "every round makes progress")
            rounds += 1
            if rounds > 5 { break }
        }
        #expect(rounds == 3)
        // A log that did not fit into an answer is not skipped.
        #expect(found.prefix(8).allSatisfy { $0 == Array(1...400) })
        #expect(found.last == Array(601...700))
    }

    /// Returns the size of the encoded answers in bytes.
    private func encoded(_ answers: [LogSyncResult]) -> Int {
        var writer = JSONWriter()
        writer.array(answers) { $1.write(to: &$0) }
        return writer.text.utf8.count
    }

    @Test("500 long messages come in answers of limited size, each of which makes progress", .history(21))
    func longMessages() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        let text = String(repeating: "x", count: 120_000)
        for _ in 1...500 { try harness.send(text, to: group, by: "bob") }
        let state = try harness.head(group, "alice").state
        var position = LogPosition(conversation: group, epoch: state.epoch, view: state.view, seq: 0, rev: 0)
        var found: [Seq] = []
        var rounds = 0
        while position.seq < 500, rounds < 500 {
            let answers = try harness.engine.syncLogs([position], by: Caller(user: "alice"))
            #expect(encoded(answers) <= ResponseBudget.answerBytes)
            let page = try answers[0].result.get().page
            #expect(page.coverage == Coverage(lower: position.seq + 1, upper: page.seqs.last ?? -1))
            found += page.seqs
            position.seq = page.coverage.upper
            rounds += 1
        }
        #expect(found == Array(1...500))
        #expect(rounds == 125, "each answer has four messages")
        // If more were missed, the answer has the newest messages that fit, and the client has a gap below.
        try harness.send(to: group, by: "bob")
        position.seq = 0
        let answers = try harness.engine.syncLogs([position], by: Caller(user: "alice"))
        #expect(encoded(answers) <= ResponseBudget.answerBytes)
        let newest = try answers[0].result.get().page
        #expect(newest.seqs == [497, 498, 499, 500, 501])
        #expect(newest.coverage == Coverage(lower: 497, upper: 501))
    }

    @Test("A message larger than the size limit is an answer by itself")
    func oversized() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        for _ in 1...3 { try harness.send(String(repeating: "x", count: 600_000), to: group, by: "bob") }
        let state = try harness.head(group, "alice").state
        for seq: Seq in 0...2 {
            let position = LogPosition(conversation: group, epoch: state.epoch, view: 0, seq: seq, rev: 0)
            let page = try harness.engine.syncLogs([position], by: Caller(user: "alice"))[0].result.get().page
            #expect(page.coverage == Coverage(lower: seq + 1, upper: seq + 1))
        }
    }

    @Test("A request with two positions of one log is refused")
    func repeatedPositions() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        let epoch = try harness.head(group, "alice").state.epoch
        func error(_ ids: [ConversationID]) -> ChatError? {
            refusal {
                let positions = ids.map { LogPosition(conversation: $0, epoch: epoch, view: 0, seq: 0, rev: 0) }
                _ = try harness.engine.syncLogs(positions, by: Caller(user: "alice"))
            }
        }
        #expect(error([group, .direct("bob"), group])?.parameter == "positions")
        #expect(error([.direct("bob"), .direct(between: "alice", and: "bob")])?.parameter == "positions")
        #expect(error([group, .direct("bob")]) == nil)
    }

    @Test("Changes of messages that were changed again count as read, and later answers have the rest")
    func supersededChanges() throws {
        let harness = try EngineHarness()
        let alice = Caller(user: "alice")
        try harness.make(group, members: ["alice"])
        let text = String(repeating: "x", count: 100_000)
        let messages = (1...10).map { _ in harness.submission(text) }
        for message in messages { try harness.send(message, to: group, by: alice) }
        let state = try harness.head(group, "alice").state
        // Each message has 51 changes, so the first 500 have none in its current state.
        for value in 1...51 {
            let admin = Caller(user: UserID(known: "u\(value)"), isAdmin: true)
            for message in messages { try harness.react("+", to: message.id, in: group, by: admin) }
        }
        var position = LogPosition(conversation: group, epoch: state.epoch, view: 0, seq: 10, rev: 0)
        var found: [Seq] = []
        var rounds = 0
        while true {
            let sync = try harness.engine.syncLogs([position], by: alice)[0].result.get()
            rounds += 1
            // Five of the ten messages fit in an answer, also if it has none of them.
            if rounds == 1 { #expect(sync.changes.isEmpty && sync.changedThrough == 495) }
            #expect(sync.changedThrough > position.rev || sync.changes.isEmpty)
            for case .message(let message) in sync.changes { found.append(message.seq) }
            guard sync.changedThrough < sync.page.state.rev, rounds < 100 else { break }
            position.rev = sync.changedThrough
        }
        #expect(found == Array(1...10))
        #expect(rounds == 3)
    }

    @Test("A position of another epoch or beyond the head gets the newest page")
    func foreignPositions() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice"])
        for _ in 1...5 { try harness.send(to: group, by: "alice") }
        let state = try harness.head(group, "alice").state
        for position in [
            LogPosition(conversation: group, epoch: Epoch(rawValue: 1), view: 0, seq: 3, rev: 0),
            LogPosition(conversation: group, epoch: state.epoch, view: 0, seq: 50, rev: 0),
        ] {
            let page = try harness.engine.syncLogs([position], by: Caller(user: "alice"))[0].result.get().page
            #expect(page.coverage == Coverage(lower: 1, upper: 5))
            #expect(page.state == state)
        }
    }

    @Test("A log that is not visible does not fail the answers for other logs")
    func partialAnswers() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice"])
        try harness.send(to: group, by: "alice")
        let epoch = try harness.head(group, "alice").state.epoch
        let ids: [ConversationID] = [.group("nowhere"), group, .direct("bob")]
        let answers = try harness.engine.syncLogs(
            ids.map { LogPosition(conversation: $0, epoch: epoch, view: 0, seq: 0, rev: 0) }, by: Caller(user: "alice"))
        #expect(answers.map(\.conversation) == ids)
        #expect(refusal { _ = try answers[0].result.get() }?.code == .unknownConversation)
        #expect(try answers[1].result.get().page.seqs == [1])
        #expect(refusal { _ = try answers[2].result.get() }?.code == .unknownConversation)
    }
}
