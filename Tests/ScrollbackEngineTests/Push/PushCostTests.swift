import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import TestSupport
import Testing

/// Counts the steps in SQLite's virtual machine to find the recipients of a push, which are the same on every machine.
@Suite("Cost of pushes", .timeLimit(.minutes(5)))
struct PushCostTests {
    private static let few = 1_000
    /// `SCROLLBACK_LONG` raises the number to the 100,000 of the full run.
    private static let many = ProcessInfo.processInfo.environment["SCROLLBACK_LONG"] == nil ? 20_000 : 100_000
    /// The number of members with a device.
    private static let devices = 40

    /// The tolerance in steps, because a worker that wakes up once more queries the empty queue once more.
    private static let slack = 500

    /// The steps for a message, from its sending until none of its pushes waits.
    private struct Costs {
        var plain = 0
        var named = 0
        var everyone = 0
        /// The steps for a message to everyone when half as many members have a device.
        var everyoneOfHalf = 0
    }

    /// A community whose members with a device are spread evenly among all members.
    private struct City {
        private let folder: TemporaryFolder
        private let services = FakeServices()
        private let channel = ConversationID.community("city", channel: "square")
        private let store: SQLiteStore
        private let harness: EngineHarness
        let people: [UserID]

        init(members count: Int, withDevice deviceCount: Int) throws {
            folder = try TemporaryFolder()
            store = try SQLiteStore(directory: folder.url)
            // With this patience, no page is closed before all answers arrive. Late answers would cost rows.
            harness = try EngineHarness.pushing(services, store: store, pacing: .init(answerTimeout: 600))
            try harness.make(.community("city"), members: ["alice"])
            try harness.put(channel)
            let members = (0..<count).map { UserID(known: "user \($0)") }
            try harness.change { transaction in
                guard let row = try transaction.conversation(.community("city")) else { return }
                for user in members {
                    try transaction.store.put(MemberRow(conversation: row.number, user: user, standing: .member))
                    try transaction.store.put(SpanRow(joined: 0), of: user, in: row.number)
                }
            }
            people = stride(from: 0, to: count, by: count / deviceCount).prefix(deviceCount).map { members[$0] }
        }

        func register(_ users: some Sequence<UserID>) throws {
            for user in users { try harness.register(user) }
        }

        func askForAll(_ users: some Sequence<UserID>) throws {
            for user in users { try harness.prefer(#"{"level":"all"}"#, by: user) }
        }

        /// Sends a message, waits for its pushes and the worker's last write, and returns the steps.
        func cost(_ mentions: Mentions? = nil, reaching users: [UserID]) async throws -> Int {
            services.forget()
            let before = store.steps
            try harness.send(harness.submission("hi", mentions: mentions), to: channel, by: "alice")
            let worker = Task { [engine = harness.engine] in await engine.runPushLoop() }
            // The loop does not query the store, because that would count.
            _ = try await eventually { services.pushed.count >= users.count }
            worker.cancel()
            harness.engine.pushes.loop.wakeUp()
            await worker.value
            let steps = store.steps - before
            #expect(services.pushed.map(\.target.receiver).sorted() == users.sorted())
            let left = try harness.engine.pendingPushes()
            #expect(left.waiting == 0 && left.retries == 0)
            return steps
        }
    }

    private func costs(members: Int) async throws -> Costs {
        let city = try City(members: members, withDevice: Self.devices)
        let half = Array(city.people.prefix(Self.devices / 2))
        let all = Array(half.prefix(Self.devices / 4))
        let named = [city.people[half.count - 1]]
        try city.register(half)
        try city.askForAll(all)
        var costs = Costs()
        // The first message of each kind is a warm-up.
        for _ in 0..<2 { costs.plain = try await city.cost(reaching: all) }
        for _ in 0..<2 { costs.named = try await city.cost(.users(named), reaching: all + named) }
        for _ in 0..<2 { costs.everyoneOfHalf = try await city.cost(.everyone(), reaching: half) }
        try city.register(city.people.dropFirst(half.count))
        for _ in 0..<2 { costs.everyone = try await city.cost(.everyone(), reaching: city.people) }
        return costs
    }

    @Test("The cost of community pushes depends on the devices and not on the members, even for @everyone")
    func communities() async throws {
        let (few, many) = (try await costs(members: Self.few), try await costs(members: Self.many))
        for (few, many) in [
            (few.plain, many.plain), (few.named, many.named), (few.everyoneOfHalf, many.everyoneOfHalf),
            (few.everyone, many.everyone),
        ] {
            #expect(few > 0 && abs(many - few) <= Self.slack, "\(few) and \(many) steps")
        }
        // Each device costs the same, except for a few steps that each message in between adds.
        #expect(many.plain < many.everyoneOfHalf && many.everyoneOfHalf < many.everyone)
        #expect(2 * many.everyone < 5 * many.everyoneOfHalf)
    }
}
