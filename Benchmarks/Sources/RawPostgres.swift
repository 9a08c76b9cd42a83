import Foundation

/// Batches of sends as PostgreSQL executes them, which `pgbench` runs without a server: the limit that nodes are
/// compared with.
///
/// They continue in the schema of a node that has stopped, and so have its tables, conversations and members.
struct RawPostgres {
    let schema: PostgresSchema
    let targets: SendTargets
    /// The number of sends in a transaction.
    let batch: Int

    /// Runs the batches one after the other, and prints the results.
    ///
    /// - Parameter figures: The results of the node, to compare with.
    func measure(for duration: Double, besides figures: NodeFigures) throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let script = folder.url.appending(path: "sends.sql")
        let commit = try schema.numbers("SELECT lastCommit FROM storeState").first
        guard let commit else { throw BenchError("The table storeState has no row.") }
        try Data(try statements().text.utf8).write(to: script)
        let cpu = PostgresSchema.cpuSeconds
        _ = try PostgresSchema.run([
            "pgbench", "--no-vacuum", "--protocol", "prepared", "--file", script.path, "--client", "1", "--jobs", "1",
            "--time", String(max(1, Int(duration))), "--define", "n=0", "--define", "known=\(commit)", "--log",
            "--log-prefix", folder.url.appending(path: "log").path, schema.url(settings: Self.settings),
        ])
        let used = PostgresSchema.cpuSeconds - cpu
        let transactions = try Self.transactions(in: folder.url)
        let seconds = transactions.mean / 1000 * Double(transactions.count)
        guard seconds > 0 else { throw BenchError("pgbench ran no transaction.") }
        let sends = Double(transactions.count * batch)
        report(
            "raw PostgreSQL, batches of \(batch)",
            String(
                format: "%.0f/s  transactions %@  CPU per send: PostgreSQL %.3f ms", sends / seconds,
                transactions.summary, used / sends * 1000))
        let ratio = figures.rate / (sends / seconds)
        report("", String(format: "one node reaches %.0f %% of the raw statements (budget 50)", ratio * 100))
    }

    private func statements() throws -> RawStatements {
        let condition = targets.direct == nil ? "target = 'all'" : "kind = 'direct'"
        let found = try schema.numbers("SELECT min(number), max(number), count(*) FROM conversation WHERE \(condition)")
        let noteBytes = try schema.numbers(
            "SELECT sum(octet_length(body)) / (SELECT count(*) FROM message) FROM commitNote")
        // The statements compute the numbers of the conversations.
        guard found.count == 3, found[2] == targets.direct ?? 1, found[1] == found[0] + found[2] - 1,
            let bytes = noteBytes.first
        else { throw BenchError("The conversations don't have consecutive numbers: \(found)") }
        return RawStatements(targets: targets, batch: batch, firstNumber: found[0], noteBytes: bytes * batch)
    }

    /// The settings of the sessions of nodes.
    private static let settings = [
        "jit=off", "plan_cache_mode=force_generic_plan", "enable_seqscan=off", "enable_bitmapscan=off",
        "enable_hashjoin=off", "enable_mergejoin=off", "synchronous_commit=on",
    ]

    /// Reads the durations from the log of `pgbench`, whose third column has microseconds.
    private static func transactions(in folder: URL) throws -> Sample {
        var sample = Sample()
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        for name in names where name.hasPrefix("log") {
            let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
            for line in text.split(separator: "\n") {
                let columns = line.split(separator: " ")
                if columns.count > 2, let duration = Double(columns[2]) { sample.add(duration / 1e6) }
            }
        }
        return sample
    }
}
