import ScrollbackEngine
import ScrollbackModel
import ScrollbackPostgres
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

    @Test func `A page of a channel takes four round trips, whatever the number of its messages`() throws {
        let channel = ConversationID.community("town", channel: "square")
        try harness.make(.community("town"), members: ["alice"])
        try harness.put(channel)
        for _ in 0..<30 { try harness.send("first", to: channel, by: "alice") }
        harness.clock.advance(by: 1)
        try harness.join(.community("town"), "bob")
        harness.clock.advance(by: 1)
        for _ in 0..<30 { try harness.send("second", to: channel, by: "alice") }
        // Two of them search the place where the user joined.
        var count = 0
        #expect(try cost { count = try harness.page(of: channel, by: "bob").messages.count } == 4)
        #expect(count == 30)
    }

    @Test func `The heads of conversations take one round trip together, and few for each of them`() throws {
        try harness.send("first", to: direct, by: "alice")
        let bob = Caller(user: "bob")
        let one = try cost { _ = try harness.engine.heads(of: [group], by: bob) }
        let two = try cost { _ = try harness.engine.heads(of: [group, direct], by: bob) }
        #expect(one == 1 + 3)
        #expect(two == 1 + 3 + 4)
    }

    @Test func `A synchronization without news takes few round trips`() throws {
        let (_, cursor) = try harness.pass(by: "bob")
        #expect(try cost { _ = try harness.pass(cursor, by: "bob") } == 5)
    }
}
