import Foundation
import ScrollbackPostgres
import TestSupport

/// A PostgreSQL primary with a synchronous standby, which `scripts/postgres-pair.sh` runs.
final class PostgresPair: Sendable {
    private let folder: TemporaryFolder

    private static let script = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        .appending(path: "scripts/postgres-pair.sh")

    /// Starts both servers.
    static func start() async throws -> PostgresPair {
        // The path of a socket must be short.
        let folder = try TemporaryFolder(in: URL(filePath: "/tmp"))
        // PostgreSQL may run as another user.
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.url.path)
        let pair = PostgresPair(folder)
        try await pair.run("start")
        return pair
    }

    private init(_ folder: TemporaryFolder) { self.folder = folder }

    /// The URL of the database on the server that is the primary.
    var url: PostgresURL {
        get throws {
            let file = folder.url.appending(component: "url")
            return try PostgresURL(
                String(contentsOf: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines))
        }
    }

    deinit {
        // Unlike a child process, the servers would outlive the tests.
        let stop = Process()
        (stop.executableURL, stop.arguments) = (Self.script, ["stop", folder.url.path])
        guard (try? stop.run()) != nil else { return }
        stop.waitUntilExit()
    }

    private func run(_ command: String) async throws {
        let process = try ChildProcess(Self.script.path, [command, folder.url.path], name: command, folder: folder.url)
        guard try await process.waitForEnd(within: 300) == 0 else {
            throw ChildProcess.Failure(description: "\(command) of PostgreSQL failed: \(process.errorText)")
        }
    }

    /// Pauses the standby, so that commits wait for it.
    func pauseStandby() async throws { try await run("pause-standby") }

    func continueStandby() async throws { try await run("continue-standby") }

    /// Stops the standby, so that it lacks later commits. They wait for it unless the servers are asynchronous.
    func stopStandby() async throws { try await run("stop-standby") }

    /// Waits until the standby has stored all commits.
    func waitForStandby() async throws {
        let primary = try url
        try await eventually("the standby has all commits") {
            primary.has("EXISTS (SELECT FROM pg_stat_replication WHERE flush_lsn >= pg_current_wal_lsn())")
                ? true : nil
        }
    }

    /// Returns whether a commit waits for the standby.
    ///
    /// - Parameters:
    ///   - application: The `application_name` of the session.
    ///   - table: A table that the transaction has read or written.
    func hasWaitingCommit(of application: String, using table: String) throws -> Bool {
        let waiting = Self.sessionsWaiting(of: application)
        // A transaction has its locks until the standby has confirmed it.
        return try url.has(
            "EXISTS (SELECT FROM pg_locks WHERE relation = '\(table)'::regclass AND granted AND pid IN (\(waiting)))")
    }

    /// Ends the sessions whose commits wait for the standby, and waits until they ended.
    ///
    /// The primary has these commits and shows them to other sessions. The standby may lack them.
    func endWaitingCommits(of application: String) throws {
        try url.execute("SELECT pg_terminate_backend(pid, 60000) FROM (\(Self.sessionsWaiting(of: application))) AS s")
    }

    private static func sessionsWaiting(of application: String) -> String {
        "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = '\(application)'"
    }

    /// Kills the primary, starts the standby if it is stopped, and makes it the primary.
    ///
    /// Unless the servers are asynchronous, the standby has all confirmed commits.
    func failOver() async throws { try await run("fail-over") }

    /// Lets commits end without the standby.
    func setAsynchronous() async throws { try await run("set-asynchronous") }
}
