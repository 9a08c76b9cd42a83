import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import TestSupport
import Testing

@Suite("Polls")
struct PollTests {
    private let group = ConversationID.group("g")
    private let harness: EngineHarness
    private let alice = Caller(user: "alice")
    private let bob = Caller(user: "bob")

    init() throws {
        harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
    }

    private func send(_ poll: Poll) throws -> MessageID {
        let id = harness.newID()
        try harness.send(Submission(id: id, content: try .poll(poll)), to: group, by: alice)
        return id
    }

    @discardableResult
    private func vote(_ option: Int, in id: MessageID, operation: MessageID? = nil, by caller: Caller) throws
        -> MessageAction
    {
        try harness.act("vote", String(option), on: id, in: group, operation: operation, by: caller)
    }

    private func edit(_ id: MessageID, to poll: Poll) throws {
        let edit = MessageEdit(try .poll(poll))
        _ = try harness.done { harness.engine.edit(id, in: group, edit, by: alice, completion: $0) }
    }

    private func votes(_ id: MessageID) throws -> [Int64]? {
        try harness.engine.message(id, in: group, by: alice).pollResults?.map(\.votes)
    }

    @Test("A vote replaces the user's earlier one, and a repeated request changes nothing")
    func oneVote() throws {
        let id = try send(Poll(question: "Which day?", options: ["Saturday", "Sunday"]))
        try vote(0, in: id, by: alice)
        try vote(0, in: id, by: bob)
        #expect(try votes(id) == [2, 0])
        let operation = harness.newID()
        try vote(1, in: id, operation: operation, by: bob)
        #expect(try votes(id) == [1, 1])
        try vote(1, in: id, operation: operation, by: bob)
        #expect(try votes(id) == [1, 1])
        #expect(refusal { try vote(1, in: id, by: bob) }?.code == .conflict)
        try harness.removeAction("vote", "1", from: id, in: group, by: bob)
        #expect(try votes(id) == [1, 0])
        for value in ["2", "-1", "01", "x"] {
            let error = refusal { try harness.act("vote", value, on: id, in: group, by: bob) }
            #expect(error?.parameter == "value")
        }
        #expect(try votes(id) == [1, 0])
    }

    @Test("A poll with several votes counts each option, also beside many reactions")
    func severalVotes() throws {
        let options = (1...20).map { "Option \($0)" }
        let id = try send(Poll(question: "Which days?", options: options, allowsSeveralVotes: true))
        for value in 1...32 { try harness.react("\(value)", to: id, in: group, by: bob) }
        for option in options.indices { try vote(option, in: id, by: alice) }
        for option in 0..<3 { try vote(option, in: id, by: bob) }
        #expect(try votes(id) == Array(repeating: 2, count: 3) + Array(repeating: 1, count: 17))
    }

    @Test("A closed poll accepts no votes, and an edit can change nothing else")
    func closing() throws {
        var poll = Poll(question: "Which day?", options: ["Saturday", "Sunday"])
        let id = try send(poll)
        try vote(0, in: id, by: bob)
        var changed = poll
        changed.options[0] = "Friday"
        #expect(refusal { try edit(id, to: changed) }?.parameter == "content")
        poll.isClosed = true
        try edit(id, to: poll)
        #expect(refusal { try vote(1, in: id, by: bob) }?.code == .conflict)
        #expect(refusal { try harness.removeAction("vote", "0", from: id, in: group, by: bob) }?.code == .conflict)
        #expect(try votes(id) == [1, 0])
        poll.isClosed = false
        #expect(refusal { try edit(id, to: poll) }?.parameter == "content")
        // Reactions are still possible.
        try harness.react("👍", to: id, in: group, by: bob)
    }

    @Test("A poll has a question and 2 to 20 options, and the word filter replaces words in them")
    func contents() throws {
        let tooMany = (0...20).map(String.init)
        for (question, options, parameter) in [
            ("", ["a", "b"], "text"), (String(repeating: "q", count: 1025), ["a", "b"], "text"),
            ("q", ["a"], "options"),
            ("q", tooMany, "options"), ("q", ["a", ""], "options"),
            ("q", ["a", String(repeating: "o", count: 257)], "options"),
        ] as [(String, [String], String)] {
            let error = refusal { _ = try MessageContent.poll(Poll(question: question, options: options)) }
            #expect(error?.parameter == parameter)
        }
        for json in [#"{"text":"q"}"#, #"{"options":["a","b"]}"#, #"{"text":"q","options":["a",1]}"#] {
            #expect(refusal { _ = try MessageContent(type: .poll, json: RawJSON(json)) } != nil)
        }
        try harness.set { $0.moderation.bannedWords = .init(words: ["spam"], action: .replace) }
        let id = try send(Poll(question: "spam?", options: ["more spam", "none"]))
        let poll = try harness.engine.message(id, in: group, by: bob).content?.poll
        #expect(poll?.question == "****?" && poll?.options == ["more ****", "none"])
    }

    @Test("On other messages, actions of the type vote have no meaning of their own")
    func otherMessages() throws {
        let message = harness.submission("hi")
        try harness.send(message, to: group, by: "alice")
        for value in ["yes", "no"] { try harness.act("vote", value, on: message.id, in: group, by: bob) }
        #expect(try harness.engine.message(message.id, in: group, by: bob).actions.count == 2)
    }
}
