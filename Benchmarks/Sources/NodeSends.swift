import ArgumentParser
import Foundation
import ScrollbackModel

struct NodeSends: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure durable sends over WebSocket with SQLite, and with 1, 2 and 3 nodes on PostgreSQL.",
        discussion: """
            The nodes share a database, a NATS server and this machine. Each sender has one message in flight and \
            receivers on other nodes. The load of one node is repeated at half of its rate. Then pgbench runs the same \
            statements without a server. Requires psql, pgbench, and the right to create schemas in the database.
            """)

    @Option(help: "The URL of a PostgreSQL database.")
    var store: String

    @Option(help: "The URL of a database whose server has a synchronous standby, to be measured too.")
    var standbyStore: String?

    @Option(help: "The URL of a NATS server.")
    var bus: String

    @Option(help: "The number of senders. All of them share one group if --group is given.")
    var senders = 48

    @Option(help: "The number of direct conversations: the number of senders to its square. (default: one each)")
    var conversations: Int?

    @Flag(help: "Send everything to one group instead of direct conversations.")
    var group = false

    @Option(help: "The largest number of nodes.")
    var nodes = 3

    @Option(help: "The number of times that a client reads 1,000 missed messages.")
    var rounds = 10

    @Option var duration = 8.0

    private var targets: SendTargets {
        SendTargets(senders: senders, direct: group ? nil : conversations ?? senders)
    }

    func validate() throws {
        guard senders >= 2, nodes >= 1, duration > 0 else {
            throw ValidationError("--senders must be at least 2, --nodes at least 1, and --duration above 0.")
        }
        guard let conversations else { return }
        guard !group else { throw ValidationError("Use either --group or --conversations.") }
        guard (senders...senders * senders).contains(conversations) else {
            throw ValidationError("--conversations must be in \(senders)...\(senders * senders).")
        }
    }

    func run() async throws {
        _ = try await withServers(1, []) { try await measure("SQLite", $0) }
        for (name, store) in [("PostgreSQL", store), ("with a standby", standbyStore)] {
            guard let store else { continue }
            for count in 1...nodes {
                try await measure("\(name), \(count) node\(count == 1 ? "" : "s")", count, on: store)
            }
        }
    }

    private func measure(_ name: String, _ count: Int, on store: String) async throws {
        let schema = try PostgresSchema(in: store)
        defer { schema.drop() }
        let figures = try await withServers(count, ["--store", schema.url, "--bus", bus]) { servers in
            try await measure(name, servers, on: schema)
        }
        // Several nodes execute the same statements.
        guard count == 1 else { return }
        let raw = RawPostgres(schema: schema, targets: targets, batch: Int(figures.sendsPerCommit.rounded()))
        try raw.measure(for: duration, besides: figures)
    }

    /// Starts servers, and stops them after `body`.
    private func withServers<Answer>(
        _ count: Int, _ options: [String], _ body: ([ServerProcess]) async throws -> Answer
    ) async throws -> Answer {
        // The others replace their keys by those of the first one.
        let servers = try (0..<count).map { _ in try ServerProcess(options) }
        defer { for server in servers { server.stop() } }
        return try await body(servers)
    }

    /// - Parameter schema: The schema of the servers' store; `nil` with SQLite.
    /// - Returns: The results of the full load.
    @discardableResult
    private func measure(
        _ name: String, _ servers: [ServerProcess], on schema: PostgresSchema? = nil
    ) async throws -> NodeFigures {
        let tokens = try await Tokens(servers[0].directory)
        let load = try await NodeLoad(servers, targets, tokens)
        let roundTrips = schema == nil ? 0 : 2
        let figures = try await load.run(duration)
        figures.printReport(name, roundTrips: roundTrips)
        if schema != nil, servers.count == 1 {
            let half = try await load.run(duration, rate: figures.rate / 2)
            half.printReport("\(name), half load", roundTrips: roundTrips)
        }
        load.close()
        try await measureCatchUp(name, servers, tokens)
        return figures
    }

    /// Measures how long a client of the last node takes to read messages that it missed, and that were sent to the
    /// first one.
    private func measureCatchUp(_ name: String, _ servers: [ServerProcess], _ tokens: Tokens) async throws {
        guard rounds > 0 else { return }
        let messages = try await MissedMessages(1000, on: servers[0], tokens)
        defer { messages.close() }
        let address = servers[servers.count - 1].address
        let token = try await tokens.token("alice")
        var sample = Sample()
        for _ in 0..<rounds {
            let positions = try await messages.positions(address, token)
            await messages.send()
            sample.add(try await messages.read(since: positions, from: address, token))
        }
        report("\(name), 1,000 missed", sample.summary)
    }
}
