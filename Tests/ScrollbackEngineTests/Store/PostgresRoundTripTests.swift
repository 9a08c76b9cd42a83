import ScrollbackEngine
import ScrollbackModel
import ScrollbackPostgres
import ScrollbackSQLite
import ScrollbackWire
import TestSupport
import Testing

/// The number of round trips to PostgreSQL, each of which costs about 100 microseconds.
@Suite(.needs(.postgres)) struct PostgresRoundTripTests {
    private let group = ConversationID.group("g")
    private let database: PostgresDatabase
    private let roundTrips = RoundTripCounter()
    private let harness: EngineHarness

    init() throws {
        database = try PostgresDatabase()
        var options = PostgresDatabase.options
        options.roundTrips = roundTrips
        harness = try EngineHarness(store: PostgresStore(database.makeSchema(), options: options))
        try harness.make(group, members: ["alice", "bob"])
        try harness.send("first", to: group, by: "alice")
    }

    private func cost(_ body: () throws -> Void) rethrows -> Int {
        let before = roundTrips.value
        try body()
        return roundTrips.value - before
    }

    private let direct = ConversationID.direct(between: "alice", and: "bob")

    @Test func `A send takes two round trips`() throws {
        let channel = ConversationID.community("town", channel: "square")
        let room = ConversationID.room("r")
        try harness.make(.community("town"), members: ["alice", "bob"])
        try harness.put(channel)
        try harness.put(room)
        for id in [group, direct, channel, room] {
            for user: UserID in ["alice", "bob"] {
                let last = try harness.send("first", to: id, by: user)
                if id != room { try harness.read(id, to: last, by: user) }
            }
            // The one has read the other's message, and the other has not.
            for user: UserID in ["alice", "bob"] {
                let count = try cost { try harness.send("second", to: id, by: user) }
                #expect(count == 2, "\(id) \(user)")
            }
        }
    }

    @Test func `A send that is repeated or mentions users takes two round trips`() throws {
        let submission = harness.submission(
            "hi", mentions: Mentions(everyone: true, users: ["bob"], pushText: nil))
        #expect(try cost { try harness.send(submission, to: group, by: "alice") } == 2)
        #expect(try cost { try harness.send(submission, to: group, by: "alice") } == 2)
    }

    @Test func `A send takes two round trips while mutes, bans and retention are in use`() throws {
        try harness.mute("bob", .forever, in: group)
        try harness.perform(BanUser(conversation: group, user: "carol"), by: EngineHarness.admin)
        try harness.delete(DeleteRange(from: nil, to: .seq(2)), of: group)
        #expect(try cost { try harness.send("second", to: group, by: "alice") } == 2)
    }

    @Test func `A send takes two round trips while pushes are in use`() throws {
        var options = PostgresDatabase.options
        options.roundTrips = roundTrips
        let store = try PostgresStore(database.makeSchema(), options: options)
        let harness = try EngineHarness.pushing(FakeServices(), store: store, users: ["bob"])
        try harness.make(group, members: ["alice", "bob"])
        for id in [group, direct] {
            for user: UserID in ["alice", "bob"] { try harness.send("first", to: id, by: user) }
            #expect(try cost { try harness.send("second", to: id, by: "alice") } == 2, "\(id)")
        }
    }

    @Test func `Changes that run together take two round trips`() throws {
        for user: UserID in ["alice", "bob"] { try harness.send("first", to: direct, by: user) }
        let epochs = try [group, direct].map { try harness.head($0, "alice").state.epoch }
        let message = harness.submission()
        try harness.send(message, to: group, by: "alice")
        let count = cost {
            harness.engine.commits.submit(for: .server, { _ in }) { [self] _ in
                // Everything that is submitted before a transaction completes is in the next one.
                for user: UserID in ["alice", "bob", "alice", "bob", "alice"] {
                    for id in [group, direct] {
                        harness.engine.send(harness.submission(), to: id, by: Caller(user: user)) { _ in }
                    }
                }
                for (id, epoch) in zip([group, direct], epochs) {
                    harness.engine.read(id, seq: 1, epoch: epoch, by: Caller(user: "bob")) { _ in }
                }
                harness.engine.edit(message.id, in: group, MessageEdit(.text("new")), by: Caller(user: "alice")) { _ in
                }
            }
        }
        #expect(count == 2 + 2)
        #expect(try harness.head(group, "alice").state.head == 7)
        #expect(try harness.head(direct, "alice").state.head == 7)
    }

    @Test func `Acknowledgements over a connection take no round trips of their own`() throws {
        let device = SessionHarness(harness).device("alice")
        let count = cost {
            harness.engine.commits.submit(for: .server, { _ in }) { [self] _ in
                // Everything that is submitted before a transaction completes is in the next one.
                for _ in 0..<5 { device.request(SendMessage(conversation: group, submission: harness.submission())) }
            }
        }
        #expect(count == 2 + 2)
        let last = try harness.store.lastCommit
        #expect(try device.checkpoint?.contains(".\(last).") == true)
    }

    @Test func `The number of statements does not grow with the number of changes`() throws {
        for user: UserID in ["alice", "bob"] { try harness.send("first", to: direct, by: user) }
        let epochs = try [group, direct].map { try harness.head($0, "alice").state.epoch }
        let statements = { (count: Int) in
            let before = roundTrips.statementCount
            harness.engine.commits.submit(for: .server, { _ in }) { [self] _ in
                for index in 0..<count {
                    let caller = Caller(user: index % 2 == 0 ? "alice" : "bob")
                    for (id, epoch) in zip([group, direct], epochs) {
                        harness.engine.send(harness.submission(), to: id, by: caller) { _ in }
                        harness.engine.read(id, seq: 1, epoch: epoch, by: caller) { _ in }
                    }
                }
            }
            return roundTrips.statementCount - before
        }
        _ = statements(2)  // Prepares the statements.
        #expect(statements(40) == statements(2))
    }

    @Test func `Indexing many conversations for searches takes as many round trips as one`() async throws {
        let folder = try TemporaryFolder()
        let search = try SQLiteSearch(harness.store, in: folder.url)
        let groups = (0..<10).map { ConversationID.group(Identifier(known: "indexed\($0)")) }
        var messages: [ConversationID: MessageID] = [:]
        for group in groups {
            try harness.make(group, members: ["alice"])
            let message = harness.submission("first")
            try harness.send(message, to: group, by: "alice")
            messages[group] = message.id
        }
        try await search.indexPendingCommits()
        func cost(of groups: some Collection<ConversationID>) async throws -> Int {
            for group in groups {
                try harness.send("second", to: group, by: "alice")
                let message = try #require(messages[group])
                try harness.edit(message, in: group, "edited", by: Caller(user: "alice"))
            }
            search.committed(Set(groups), lastCommit: try harness.store.lastCommit)
            let before = roundTrips.value
            try await search.indexPendingCommits()
            return roundTrips.value - before
        }
        #expect(try await cost(of: groups) == cost(of: groups.prefix(1)))
        try search.close()
    }

    @Test func `A large message is not read ahead`() throws {
        let text = String(repeating: "x", count: 10_000)
        let message = harness.submission(text)
        try harness.send(message, to: group, by: "alice")
        #expect(try harness.send(message, to: group, by: "alice").outcome == .duplicate)
        #expect(try cost { try harness.send(message, to: group, by: "alice") } > 2)
        #expect(try harness.page(of: group, by: "bob").texts.first == text)
    }

    @Test func `A read mark takes two round trips`() throws {
        try harness.send("first", to: direct, by: "alice")
        for id in [group, direct] {
            let head = try harness.head(id, "bob").state
            let count = try cost {
                _ = try harness.done {
                    harness.engine.read(id, seq: head.head, epoch: head.epoch, by: Caller(user: "bob"), completion: $0)
                }
            }
            #expect(count == 2, "\(id)")
        }
    }

    @Test func `A delivery report takes two round trips, whatever the number of its conversations`() throws {
        let groups = (0..<6).map { ConversationID.group(Identifier(known: "g\($0)")) }
        for id in groups { try harness.make(id, members: ["alice", "bob"]) }
        for id in groups + [direct] { try harness.send("first", to: id, by: "alice") }
        for ids in [[direct], [groups[0]], Array(groups[1...])] {
            let marks = try ids.map { try harness.mark($0, through: 1, by: "bob") }
            var results: [DeliveryResult] = []
            #expect(try cost { results = try harness.report(marks, by: "bob") } == 2, "\(ids)")
            #expect(results.allSatisfy { $0.error == nil })
        }
    }

    @Test func `An edit takes two round trips`() throws {
        let message = harness.submission()
        try harness.send(message, to: group, by: "alice")
        #expect(try cost { try harness.edit(message.id, in: group, "new", by: Caller(user: "alice")) } == 2)
    }

    @Test func `A page takes two round trips, whatever the number of its messages`() throws {
        #expect(try cost { _ = try harness.page(limit: 1, of: group, by: "bob") } == 2)
        for _ in 0..<20 { try harness.send("more", to: group, by: "alice") }
        #expect(try cost { _ = try harness.page(limit: 20, of: group, by: "bob") } == 2)
    }

    @Test func `A page of a channel takes two round trips, whatever the number of its messages`() throws {
        let channel = ConversationID.community("town", channel: "square")
        try harness.make(.community("town"), members: ["alice"])
        try harness.put(channel)
        for _ in 0..<30 { try harness.send("first", to: channel, by: "alice") }
        harness.clock.advance(by: 1)
        try harness.join(.community("town"), "bob")
        harness.clock.advance(by: 1)
        for _ in 0..<30 { try harness.send("second", to: channel, by: "alice") }
        var count = 0
        #expect(try cost { count = try harness.page(of: channel, by: "bob").messages.count } == 2)
        #expect(count == 30)
    }

    @Test func `The heads of conversations take one round trip together`() throws {
        try harness.send("first", to: direct, by: "alice")
        let bob = Caller(user: "bob")
        #expect(try cost { _ = try harness.head(group, "bob") } == 1)
        #expect(try cost { _ = try harness.engine.heads(of: [group, direct], by: bob) } == 1)
    }

    @Test func `A page of recents takes three round trips, whatever the number of its conversations`() throws {
        let bob = Caller(user: "bob")
        try harness.send("first", to: direct, by: "alice")
        for limit in [1, 2] {
            var count = 0
            #expect(try cost { count = try harness.engine.recents(limit: limit, by: bob).heads.count } == 3)
            #expect(count == limit)
        }
    }

    @Test func `Reactions, replies and messages with files take two round trips`() async throws {
        let channel = ConversationID.community("town", channel: "square")
        try harness.make(.community("town"), members: ["alice", "bob"])
        try harness.put(channel)
        let alice = Caller(user: "alice")
        for id in [group, direct, channel] {
            for user: UserID in ["alice", "bob"] { try harness.send("first", to: id, by: user) }
            let message = harness.submission()
            try harness.send(message, to: id, by: "bob")
            let operation = harness.newID()
            for _ in 1...2 {
                let reacting = try cost {
                    try harness.act("reaction", "x", on: message.id, in: id, operation: operation, by: alice)
                }
                #expect(reacting == 2, "\(id)")
            }
            let removing = try cost { try harness.removeAction("reaction", "x", from: message.id, in: id, by: alice) }
            #expect(removing == 2, "\(id)")

            var reply = harness.submission()
            reply.attributes.replyTo = message.id
            #expect(try cost { try harness.send(reply, to: id, by: "alice") } == 2, "\(id)")
            var second = harness.submission(mentions: Mentions(everyone: false, users: ["alice"], pushText: nil))
            second.attributes.replyTo = reply.id
            let replying = try cost { try harness.send(second, to: id, by: "bob") }
            #expect(replying == (id == channel ? 3 : 2), "\(id)")

            let file = try await harness.upload([1, 2, 3], to: id, by: "alice")
            let submission = try harness.submission(of: file)
            #expect(try cost { try harness.send(submission, to: id, by: "alice") } == 2, "\(id)")
        }
    }

    @Test func `Reactions and replies that run together take two round trips`() throws {
        let message = harness.submission()
        for user: UserID in ["alice", "bob"] { try harness.send("first", to: group, by: user) }
        try harness.send(message, to: group, by: "alice")
        let count = cost {
            harness.engine.commits.submit(for: .server, { _ in }) { [self] _ in
                for user: UserID in ["alice", "bob"] {
                    let caller = Caller(user: user)
                    harness.engine.addAction(to: message.id, in: group, type: "reaction", value: "x", by: caller) { _ in
                    }
                    var reply = harness.submission()
                    reply.attributes.replyTo = message.id
                    harness.engine.send(reply, to: group, by: caller) { _ in }
                }
            }
        }
        #expect(count == 2 + 2)
        let found = try harness.engine.message(message.id, in: group, by: Caller(user: "bob"))
        #expect(found.replies?.count == 2)
        #expect(found.actions.first?.count == 2)
    }
}

/// The number of round trips with which a device catches up.
@Suite(.needs(.postgres)) struct PostgresSyncRoundTripTests {
    private let bob = Caller(user: "bob")
    private let database: PostgresDatabase
    private let roundTrips = RoundTripCounter()
    private let harness: EngineHarness

    init() throws {
        database = try PostgresDatabase()
        var options = PostgresDatabase.options
        options.roundTrips = roundTrips
        harness = try EngineHarness(store: PostgresStore(database.makeSchema(), options: options))
    }

    private func cost(_ body: () throws -> Void) rethrows -> Int {
        let before = roundTrips.value
        try body()
        return roundTrips.value - before
    }

    /// Makes conversations of several kinds with one message each.
    private func makeConversations(_ count: Int) throws -> [ConversationID] {
        let channel = ConversationID.community("town", channel: "square")
        try harness.make(.community("town"), members: ["alice", "bob"])
        try harness.put(channel)
        let groups = (0..<count).map { ConversationID.group(Identifier(known: "g\($0)")) }
        for id in groups { try harness.make(id, members: ["alice", "bob"]) }
        let directs = (0..<count).map { ConversationID.direct(between: "bob", and: UserID(known: "user\($0)")) }
        for id in groups + [channel] { try harness.send("first", to: id, by: "alice") }
        for id in directs { try harness.send("first", to: id, by: id.namedUsers.first { $0 != "bob" } ?? "alice") }
        return groups + directs + [channel]
    }

    private func position(in id: ConversationID) throws -> LogPosition {
        let state = try harness.head(id, "bob").state
        return LogPosition(conversation: id, epoch: state.epoch, view: state.view, seq: state.head, rev: state.rev)
    }

    @Test func `A synchronization without news takes two round trips`() throws {
        _ = try makeConversations(2)
        let (_, cursor) = try harness.pass(by: "bob")
        #expect(try cost { _ = try harness.pass(cursor, by: "bob") } == 2)
    }

    @Test(arguments: [2, 20])
    func `A window takes three round trips and its logs two, whatever their number`(_ count: Int) throws {
        let all = try makeConversations(count)
        let (_, cursor) = try harness.pass(by: "bob")
        let positions = try all.map { try position(in: $0) }
        for id in all { try harness.fill(id, 1_000 / all.count) }
        let message = harness.submission("hi", mentions: Mentions(everyone: true, users: [], pushText: nil))
        try harness.send(message, to: all[0], by: "alice")
        try harness.edit(message.id, in: all[0], "new", by: Caller(user: "alice"))

        var window: HeadWindow?
        #expect(try cost { window = try harness.engine.syncWindow(cursor: cursor, limit: 500, by: bob) } == 3)
        #expect(window?.isDone == true)
        #expect(Set(window?.heads.map(\.conversation) ?? []) == Set(all.map { $0.relative(to: "bob") }))
        #expect(window?.heads.map(\.unread).max() == Int64(1_000 / all.count + 2))
        #expect(window?.heads.map(\.mentions).max() == 1)

        var answers: [LogSyncResult] = []
        #expect(try cost { answers = try harness.engine.syncLogs(positions, by: bob) } == 2)
        let logs = try answers.map { try $0.result.get() }
        #expect(logs.reduce(0) { $0 + $1.page.messages.count } == all.count * (1_000 / all.count) + 1)
        #expect(logs.reduce(0) { $0 + $1.changes.count } == 1)
        // A new device also gets the unread counts of all conversations in total.
        #expect(try cost { _ = try harness.engine.syncWindow(cursor: nil, limit: 500, by: bob) } == 4)
    }

    @Test func `The logs of a device that knows everything take one round trip`() throws {
        let positions = try makeConversations(2).map { try position(in: $0) }
        #expect(try cost { _ = try harness.engine.syncLogs(positions, by: bob) } == 1)
    }

    @Test func `A large message of a log is not read ahead`() throws {
        let id = try makeConversations(1)[0]
        let positions = [try position(in: id)]
        try harness.send(String(repeating: "x", count: 3_000), to: id, by: "alice")
        var messages: [Message] = []
        let count = try cost {
            messages = try harness.engine.syncLogs(positions, by: bob)[0].result.get().page.messages
        }
        #expect(count > 2)
        #expect(messages.map { $0.text?.count } == [3_000])
    }
}
