import ArgumentParser
import Foundation
import ScrollbackModel

struct NodeSends: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure durable sends over WebSocket with SQLite, and with 1, 2 and 3 nodes on PostgreSQL.",
        discussion: """
            The nodes share a database, a NATS server and this machine. Each sender has one message in flight and a \
            receiver on the next node. Requires psql, and the right to create schemas in the database.
            """)

    @Option(help: "The URL of a PostgreSQL database.")
    var store: String

    @Option(help: "The URL of a NATS server.")
    var bus: String

    @Option(help: "The number of senders. All of them share one group if --group is given.")
    var senders = 48

    @Flag(help: "Send everything to one group instead of direct conversations.")
    var group = false

    @Option(help: "The largest number of nodes.")
    var nodes = 3

    @Option var duration = 8.0

    func run() async throws {
        let sqlite = try ServerProcess()
        try await measure("SQLite", [sqlite])
        sqlite.stop()
        for count in 1...nodes {
            let schema = "bench_\(UUID().uuidString.lowercased().replacing("-", with: ""))"
            try execute("CREATE SCHEMA \(schema)")
            defer { try? execute("DROP SCHEMA \(schema) CASCADE") }
            let separator = store.contains("?") ? "&" : "?"
            let url = "\(store)\(separator)options=-csearch_path%3D\(schema)"
            // The others replace their keys by those of the first one.
            let servers = try (0..<count).map { _ in try ServerProcess(["--store", url, "--bus", bus]) }
            defer { for server in servers { server.stop() } }
            try await measure("PostgreSQL, \(count) nodes", servers)
        }
    }

    private func execute(_ statement: String) throws {
        let psql = Process()
        psql.executableURL = URL(filePath: "/usr/bin/env")
        psql.arguments = ["psql", "--quiet", store, "--command", statement]
        psql.standardError = FileHandle.nullDevice
        try psql.run()
        psql.waitUntilExit()
        guard psql.terminationStatus == 0 else { throw BenchError("psql failed: \(statement)") }
    }

    private func measure(_ name: String, _ servers: [ServerProcess]) async throws {
        let tokens = try await Tokens(servers[0].directory)
        let delivered = EventCounter()
        var (clients, receivers): ([LoadClient], [LoadClient]) = ([], [])
        if group {
            let members = (0..<senders).map { "\"\(user($0))\"" }.joined(separator: ",")
            try await Preparation(server: servers[0], admin: tokens.admin())
                .call("PUT", "/v1/conversations/group:all", #"{"members":[\#(members)]}"#)
        }
        for number in 0..<senders {
            let (own, next) = (servers[number % servers.count], servers[(number + 1) % servers.count])
            clients.append(
                try await LoadClient(own.address, token: tokens.token(user(number)), device: "sender") {
                    [delivered, group] _ in if group { delivered.add() }
                })
            guard !group else { continue }
            receivers.append(
                try await LoadClient(next.address, token: tokens.token(user(number + 1000)), device: "receiver") {
                    [delivered] _ in delivered.add()
                })
        }
        defer { for client in clients + receivers { client.close() } }
        let before = (servers: servers.map(\.cpuSeconds).reduce(0, +), database: Self.databaseSeconds)
        let start = now()
        let end = start + duration
        let sample = await runConcurrently(senders) { [clients, group] number in
            await clients[number].sendTexts(to: group ? .group("all") : .direct(user(number + 1000))) { _ in
                now() < end
            }
        }
        let elapsed = now() - start
        let expected = group ? sample.count * (senders - 1) : sample.count
        while delivered.count < expected, now() < end + 30 { try await Task.sleep(for: .milliseconds(10)) }
        let used = (
            servers: servers.map(\.cpuSeconds).reduce(0, +) - before.servers,
            database: Self.databaseSeconds - before.database
        )
        report(
            name,
            String(
                format: "%.0f/s  %@  CPU per send: servers %.3f ms, PostgreSQL %.3f ms, delivered %d of %d",
                Double(sample.count) / elapsed, sample.summary, used.servers / Double(sample.count) * 1000,
                used.database / Double(sample.count) * 1000, delivered.count, expected))
    }

    /// The CPU time of all PostgreSQL processes of this machine.
    private static var databaseSeconds: Double {
        let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc"))?.compactMap { Int32($0) } ?? []
        return processes.reduce(0) { sum, process in
            let name = try? String(contentsOfFile: "/proc/\(process)/comm", encoding: .utf8)
            return sum + (name == "postgres\n" ? ServerProcess.cpuSeconds(of: process) : 0)
        }
    }
}
