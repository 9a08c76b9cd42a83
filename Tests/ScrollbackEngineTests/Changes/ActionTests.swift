import Foundation
import ScrollbackEngine
import ScrollbackModel
import Testing

@Suite("Actions on messages")
struct ActionTests {
    private let group = ConversationID.group("g")
    private let harness: EngineHarness
    private let message: Submission
    private let alice = Caller(user: "alice")
    private let bob = Caller(user: "bob")

    init() throws {
        harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        message = harness.submission("hello")
        try harness.send(message, to: group, by: "alice")
    }

    private func act(_ type: String, _ value: String, by caller: Caller) throws -> MessageAction {
        try harness.act(type, value, on: message.id, in: group, by: caller)
    }

    private func summaries() throws -> [ActionSummary] {
        try harness.engine.message(message.id, in: group, by: alice).actions
    }

    @Test("A type has 1 to 64 bytes, and a value has 1 to 128 bytes")
    func sizes() throws {
        _ = try act(String(repeating: "t", count: 64), String(repeating: "é", count: 64), by: alice)
        #expect(refusal { _ = try act(String(repeating: "t", count: 65), "v", by: alice) }?.parameter == "type")
        #expect(refusal { _ = try act("t", String(repeating: "é", count: 64) + "v", by: alice) }?.parameter == "value")
        #expect(refusal { _ = try act("", "v", by: alice) }?.parameter == "type")
        #expect(refusal { _ = try act("t", "", by: alice) }?.parameter == "value")
    }

    @Test("A user can add the same action once, and composed and decomposed values differ")
    func repeatedActionIsAddedOnce() throws {
        _ = try act("reaction", "caf\u{E9}", by: alice)
        _ = try act("reaction", "cafe\u{301}", by: alice)
        #expect(refusal { _ = try act("reaction", "caf\u{E9}", by: alice) }?.code == .conflict)
        #expect(try summaries().map(\.count) == [1, 1])
    }

    @Test("A user can have 50 actions on a message, and other users can add theirs")
    func actionsOfOneUserAreLimited() throws {
        let first = try act("type 0", "value", by: alice)
        for number in 1..<50 { _ = try act("type \(number % 7)", "value \(number)", by: alice) }
        let error = refusal { _ = try act("reaction", "one more", by: alice) }
        #expect((error?.code, error?.limit) == (.conflict, 50))
        _ = try act("reaction", "one more", by: bob)
        try harness.unreact(first, in: group, by: alice)
        _ = try act("reaction", "one more", by: alice)
    }

    @Test("A message has at most 32 action summaries, and removing one admits the next value")
    func summaryCountIsLimited() throws {
        var actions = try (1...33).map { try act("reaction", "kind \($0)", by: alice) }
        _ = try act("reaction", "kind 33", by: bob)
        #expect(try summaries().map(\.value) == (1...32).map { "kind \($0)" })
        #expect(
            try harness.engine.actions(on: message.id, in: group, after: nil, limit: 100, by: bob).actions.count == 34)
        try harness.unreact(actions[32], in: group, by: alice)
        #expect(try summaries().count == 32)
        try harness.unreact(actions[4], in: group, by: alice)
        #expect(try summaries().map(\.value) == (1...33).filter { $0 != 5 }.map { "kind \($0)" })
        #expect(try summaries().last?.senders == ["bob"])
        actions[4] = try act("reaction", "kind 5", by: alice)
        #expect(try summaries().count == 32, "a 33rd value gets no summary")
    }

    @Test("A summary names the first 20 users, and the 21st after one of them removes the action")
    func summaryNamesFirstTwentyUsers() throws {
        let people = (1...22).map { UserID(known: "user \($0 + 100)") }
        for user in people { try harness.join(group, user) }
        try harness.put(group, .init(visibility: .everything))
        let actions = try people.prefix(21).map { try act("reaction", "+1", by: Caller(user: $0)) }
        #expect(try summaries()[0].count == 21)
        #expect(try summaries()[0].senders == Array(people.prefix(20)))
        try harness.unreact(actions[3], in: group, by: Caller(user: people[3]))
        let expected = people.prefix(21).filter { $0 != people[3] }
        #expect(try summaries()[0].senders == expected)
        _ = try act("reaction", "+1", by: Caller(user: people[21]))
        #expect(try summaries()[0].count == 21)
        #expect(try summaries()[0].senders == expected)
        try harness.unreact(actions[20], in: group, by: Caller(user: people[20]))
        #expect(try summaries()[0].senders == expected.dropLast() + [people[21]])
    }

    @Test("Actions can't be added to a tombstone, and deleting a message removes its actions")
    func tombstonesHaveNoActions() throws {
        let action = try act("reaction", "+1", by: bob)
        try harness.delete(message.id, in: group, by: alice)
        #expect(refusal { _ = try act("reaction", "+1", by: bob) }?.code == .conflict)
        #expect(refusal { try harness.unreact(action, in: group, by: bob) }?.code == .unknownMessage)
        #expect(try summaries().isEmpty)
        #expect(try harness.engine.actions(on: nil, in: group, after: nil, limit: 10, by: bob).actions.isEmpty)
    }

    @Test("Only a moderator can remove another user's action, and only with the ID of its own message")
    func onlyModeratorsRemoveActionsOfOthers() throws {
        let action = try act("reaction", "+1", by: bob)
        let other = harness.submission("other")
        try harness.send(other, to: group, by: "alice")
        #expect(refusal { try harness.unreact(action, in: group, by: alice) }?.code == .forbidden)
        var elsewhere = action
        elsewhere.message = other.id
        #expect(refusal { try harness.unreact(elsewhere, in: group, by: bob) }?.code == .unknownMessage)
        try harness.join(group, "alice", as: .moderator)
        try harness.unreact(action, in: group, by: alice)
        #expect(try summaries().isEmpty)
    }

    @Test("A retried action gets its first answer, even after the action or its message was removed")
    func retry() throws {
        let operation = harness.newID()
        func ask() throws -> MessageAction {
            try harness.react("+1", to: message.id, in: group, operation: operation, by: bob)
        }
        let action = try ask()
        #expect(try ask() == action)
        try harness.unreact(action, in: group, by: bob)
        #expect(try ask() == action)
        #expect(try summaries().isEmpty)
        try harness.delete(message.id, in: group, by: alice)
        #expect(try ask() == action)
        #expect(
            refusal { try harness.react("eyes", to: message.id, in: group, operation: operation, by: bob) }?.code
                == .conflict)
    }
}
