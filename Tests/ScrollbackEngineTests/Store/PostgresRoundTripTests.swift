import ScrollbackEngine
import ScrollbackModel
import ScrollbackPostgres
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

    @Test func `A send takes one round trip for each query, one to begin and one to commit`() throws {
        #expect(try cost { try harness.send("second", to: group, by: "alice") } == 6)
    }

    @Test func `A page takes few round trips, whatever the number of its messages`() throws {
        #expect(try cost { _ = try harness.page(limit: 1, of: group, by: "bob") } == 6)
        for _ in 0..<20 { try harness.send("more", to: group, by: "alice") }
        #expect(try cost { _ = try harness.page(limit: 20, of: group, by: "bob") } == 6)
    }

    @Test func `A synchronization without news takes few round trips`() throws {
        let (_, cursor) = try harness.pass(by: "bob")
        #expect(try cost { _ = try harness.pass(cursor, by: "bob") } == 6)
    }
}
