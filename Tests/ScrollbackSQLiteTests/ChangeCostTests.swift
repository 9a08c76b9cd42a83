import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import ScrollbackWire
import TestSupport
import Testing

/// Measures the cost of changes, and of pages after them, in virtual machine steps of SQLite.
@Suite(.serialized) struct ChangeCostTests {
    private let group = ConversationID.group("a")
    private let folder: TemporaryFolder
    private let store: SQLiteStore
    private let engine: Engine
    private let alice = Caller(user: "alice")
    private let bob = Caller(user: "bob")
    private let admin = Caller(user: "admin", isAdmin: true)
    private let count = 3_000

    init() throws {
        folder = try TemporaryFolder()
        store = try SQLiteStore(directory: folder.url)
        engine = try Engine(store: store, execution: .inline)
        let _: Bool = try done {
            engine.putConversation(
                group, ConversationSettings(members: ["alice", "bob"]), by: admin, completion: $0)
        }
        let (log, count) = (group, count)
        let _: Void = try done { completion in
            engine.commits.submit(
                for: .server,
                { transaction in
                    guard var row = try transaction.conversation(log) else { return }
                    for number in 1...count {
                        row.head += 1
                        row.countedIndex += 1
                        row.timetoken = transaction.timetoken(after: row.timetoken)
                        try transaction.store.insert(
                            MessageRow(
                                seq: row.head, countedIndex: row.countedIndex, timetoken: row.timetoken,
                                id: MessageID(high: 1, low: UInt64(number)), sender: "alice", type: .text,
                                content: MessageContent.text("hello").json, attributes: .init(), digest: 0),
                            in: row.number)
                    }
                    // Alice's read marker advances with her own messages.
                    var alice = try transaction.member("alice", of: row.number)
                    alice?.readSeq = row.head
                    alice?.readCountedIndex = row.countedIndex
                    if let alice { transaction.put(alice) }
                    try transaction.put(row)
                }, completion: completion)
        }
    }

    private func id(_ number: Int) -> MessageID { MessageID(high: 1, low: UInt64(number)) }

    private func done<Answer: Sendable>(_ body: (@escaping Engine.Completion<Answer>) -> Void) throws -> Answer {
        try Engine.result(of: body)
    }

    private func steps(_ question: () throws -> Void) rethrows -> Int {
        let before = store.steps
        try question()
        return store.steps - before
    }

    private func react(_ value: String, to number: Int, by caller: Caller) throws -> MessageAction {
        try done {
            engine.addAction(to: id(number), in: group, type: "reaction", value: value, by: caller, completion: $0)
        }
    }

    @Test
    func `A page across a deleted range costs as much as any page, even before the rows of the range are removed`()
        throws
    {
        func page(_ place: Seq) throws -> Int {
            try steps {
                let query = HistoryQuery(.before(.seq(place)), limit: 20)
                let page = try engine.history(of: group, query, by: bob)
                #expect(page.messages.count == 20)
            }
        }
        _ = try page(2_900)
        let plain = try page(2_900)
        let _: Int64 = try done {
            engine.delete(DeleteRange(from: .seq(101), to: .seq(2_801)), of: group, by: admin, completion: $0)
        }
        #expect(try page(2_810) <= plain + 100)
        #expect(try page(2_801) <= plain + 100)
    }

    @Test func `The cost of sync depends on the number of returned changes, and not on the length of the change log`()
        throws
    {
        for number in 1...600 { _ = try react("+1", to: number, by: bob) }
        let state = try engine.head(of: group, by: bob).state
        func sync(_ rev: Int64, _ expected: Int) throws -> Int {
            try steps {
                let position = LogPosition(
                    conversation: group, epoch: state.epoch, view: state.view, seq: state.head, rev: rev)
                let answer = try engine.syncLogs([position], by: bob)[0].result.get()
                #expect(answer.changes.count == expected)
                #expect(answer.changedThrough == rev + Int64(expected))
            }
        }
        _ = try sync(600, 0)
        let nothing = try sync(600, 0)
        let one = try sync(599, 1) - nothing
        #expect(try sync(590, 10) <= nothing + 10 * one)
        #expect(try sync(0, 500) <= nothing + 500 * one)
    }

    @Test func `A change costs the same in a long log, and on a message with many actions`() throws {
        func edit(_ number: Int) throws -> Int {
            try steps {
                let edit = MessageEdit(.text("edited"))
                let _: Message = try done {
                    engine.edit(id(number), in: group, edit, by: alice, completion: $0)
                }
            }
        }
        _ = try edit(1)
        let plain = try edit(2)
        for number in 0..<400 {
            let user = Caller(user: UserID(known: "u\(number % 20)"), isAdmin: true)
            _ = try react("\(number % 5) \(number)", to: 3, by: user)
        }
        #expect(try edit(2_999) <= plain + 50)
        #expect(try edit(3) <= plain + 50)
        let first = try steps { _ = try react("+1", to: 4, by: bob) }
        #expect(try steps { _ = try react("one more", to: 3, by: bob) } <= first + 50)
        #expect(try store.verify { _ in } == [])
    }

    @Test func `A change of a thread costs the same, however many mentions are unread`() throws {
        let reply = Submission(
            id: MessageID(high: 4, low: 1), content: .text("hello"), attributes: MessageAttributes(replyTo: id(1)))
        let _: SendResult = try done { engine.send(reply, to: group, by: alice, completion: $0) }
        let log = group
        func mention(at places: ClosedRange<Seq>) throws {
            let _: Void = try done { completion in
                engine.commits.submit(
                    for: .server,
                    { transaction in
                        guard let row = try transaction.conversation(log) else { return }
                        for seq in places {
                            try transaction.store.insertMention(of: "bob", by: "alice", at: seq, in: row.number)
                        }
                    }, completion: completion)
            }
        }
        func change(_ isFollowed: Bool) throws -> Int {
            try steps {
                let change = ChangeThread(conversation: log, thread: id(1), ThreadChange(isFollowed: isFollowed))
                let _: ThreadState = try done { engine.execute(change, by: bob, completion: $0) }
            }
        }
        try mention(at: 1...600)
        _ = try change(true)
        let some = try change(false)
        try mention(at: 601...3_000)
        #expect(try change(true) <= some + 100)
    }

    @Test func `A page of scheduled messages reads no more messages than it has`() throws {
        let text = String(repeating: "x", count: 100_000)
        func schedule(_ numbers: ClosedRange<UInt64>) throws {
            for number in numbers {
                let submission = Submission(id: MessageID(high: 5, low: number), content: .text(text))
                let request = ScheduleMessage(
                    conversation: group, submission: submission, sendAt: Date(timeIntervalSinceNow: 3_600))
                let _: EmptyAnswer = try done { engine.execute(request, by: alice, completion: $0) }
            }
        }
        func list() throws -> Int {
            try steps {
                let list = ListScheduled(page: Paging(limit: 100))
                let page: ListScheduled.Answer = try done { engine.execute(list, by: alice, completion: $0) }
                #expect(page.elements.count == 6 && page.cursor != nil)
            }
        }
        try schedule(1...8)
        _ = try list()
        let few = try list()
        try schedule(9...40)
        #expect(try list() <= few + 20)
    }

    @Test func `Maintenance without due work commits nothing`() async throws {
        _ = try react("+1", to: 1, by: bob)
        let lastCommit = store.lastCommit
        try await engine.expire()
        try await engine.sweep()
        try await engine.prune()
        // Looking for expired message IDs takes one commit.
        #expect(store.lastCommit <= lastCommit + 1)
    }

    @Test func `Sending looks up no ban in a conversation without bans, and no state of other users`() throws {
        let room = ConversationID.room("lobby")
        let _: Bool = try done {
            engine.putConversation(room, ConversationSettings(), by: admin, completion: $0)
        }
        var number: UInt64 = 0
        func send() throws -> Int {
            try steps {
                number += 1
                let submission = Submission(id: MessageID(high: 3, low: number), content: .text("hello"))
                let _: SendResult = try done { engine.send(submission, to: room, by: alice, completion: $0) }
            }
        }
        let _: EmptyAnswer = try done {
            engine.execute(BanUser(conversation: group, user: "bob"), by: admin, completion: $0)
        }
        let _: EmptyAnswer = try done { engine.execute(BanFromServer(user: "carol"), by: admin, completion: $0) }
        for _ in 0..<2 { _ = try send() }
        let plain = try send()
        let _: EmptyAnswer = try done {
            engine.execute(BanUser(conversation: room, user: "bob"), by: admin, completion: $0)
        }
        #expect(try send() > plain + 5, "a ban was looked for before")
    }

    @Test func `Sending looks up no mute and no block in a conversation without them`() throws {
        let direct = ConversationID.direct(between: "alice", and: "bob")
        var number: UInt64 = 0
        func send(to id: ConversationID) throws -> Int {
            try steps {
                number += 1
                let submission = Submission(id: MessageID(high: 2, low: number), content: .text("hello"))
                let _: SendResult = try done { engine.send(submission, to: id, by: alice, completion: $0) }
            }
        }
        // Other conversations have mutes and blocks, because a lookup in an empty table is cheaper.
        let elsewhere = ConversationID.group("elsewhere")
        let _: Bool = try done {
            engine.putConversation(elsewhere, ConversationSettings(members: ["bob"]), by: admin, completion: $0)
        }
        let _: Bool = try done {
            engine.putMember("bob", role: nil, mute: .some(.forever), of: elsewhere, by: admin, completion: $0)
        }
        let _: EmptyAnswer = try done { engine.execute(BlockUser(user: "carol"), by: alice, completion: $0) }
        for id in [group, direct] { for _ in 0..<2 { _ = try send(to: id) } }
        let plain = (group: try send(to: group), direct: try send(to: direct))
        let _: Bool = try done {
            engine.putMember("bob", role: nil, mute: .some(.forever), of: group, by: admin, completion: $0)
        }
        #expect(try send(to: group) > plain.group + 5, "a mute was looked for before")
        let _: EmptyAnswer = try done { engine.execute(BlockUser(user: "bob"), by: alice, completion: $0) }
        #expect(try send(to: direct) <= plain.group, "a block is looked for")
    }

    @Test func `Listing the conversations with deliveries takes one seek each`() throws {
        func ask() throws -> Int {
            try steps {
                let found = try store.read { try $0.conversationsWithDeliveries(to: "a", after: 0, limit: 100) }
                #expect(found == [1, 2])
            }
        }
        func insert(_ count: Int) throws {
            try store.write { store, _ in
                for number in 0..<count {
                    try store.insertDelivery(
                        DeliveryRow("message", to: "a", of: Int64(number % 2 + 1), body: RawJSON(known: "{}")))
                }
            }
        }
        try insert(2)
        _ = try ask()
        let few = try ask()
        try insert(2_000)
        #expect(try ask() <= few + 10)
    }
}
