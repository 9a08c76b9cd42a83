import Foundation

/// A schema of a PostgreSQL database, for one measurement.
struct PostgresSchema {
    private let store: String
    private let name = "bench_\(UUID().uuidString.lowercased().replacing("-", with: ""))"

    /// Creates the schema.
    ///
    /// - Parameter store: The URL of the database.
    init(in store: String) throws {
        self.store = store
        _ = try Self.run(["psql", "--quiet", store, "--command", "CREATE SCHEMA \(name)"])
    }

    func drop() { _ = try? Self.run(["psql", "--quiet", store, "--command", "DROP SCHEMA \(name) CASCADE"]) }

    /// The URL of the database that selects the schema.
    var url: String { url(settings: []) }

    /// - Parameter settings: Settings of the session, such as `jit=off`.
    func url(settings: [String]) -> String {
        let options = (["search_path=\(name)"] + settings).map { "-c" + $0.replacing("=", with: "%3D") }
        return "\(store)\(store.contains("?") ? "&" : "?")options=\(options.joined(separator: "%20"))"
    }

    /// Returns the row of a query, whose columns are whole numbers.
    func numbers(_ query: String) throws -> [Int] {
        let row = try Self.run(["psql", "--quiet", "--tuples-only", "--no-align", url, "--command", query])
        return row.split { $0 == "|" || $0 == "\n" }.compactMap { Int($0) }
    }

    /// Runs a program of PostgreSQL and returns its output.
    static func run(_ arguments: [String]) throws -> String {
        let (program, output, errors) = (Process(), Pipe(), Pipe())
        program.executableURL = URL(filePath: "/usr/bin/env")
        program.arguments = arguments
        program.standardOutput = output
        program.standardError = errors
        try withUnblockedSignals { try program.run() }
        ChildProcesses.add(program.processIdentifier)
        defer { ChildProcesses.remove(program.processIdentifier) }
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        let error = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        program.waitUntilExit()
        guard program.terminationStatus == 0 else { throw BenchError("\(arguments[0]) failed: \(error)") }
        return text
    }

    /// Starts a program so that it receives signals: `pgbench` ends with one, and programs inherit the blocked signals
    /// of the thread that starts them.
    private static func withUnblockedSignals(_ start: () throws -> Void) rethrows {
        var (none, blocked) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &blocked)
        defer { pthread_sigmask(SIG_SETMASK, &blocked, nil) }
        try start()
    }

    /// The CPU time of all PostgreSQL processes of this machine.
    static var cpuSeconds: Double {
        let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc"))?.compactMap { Int32($0) } ?? []
        return processes.reduce(0) { sum, process in
            let name = try? String(contentsOfFile: "/proc/\(process)/comm", encoding: .utf8)
            return sum + (name == "postgres\n" ? ServerProcess.cpuSeconds(of: process) : 0)
        }
    }
}
