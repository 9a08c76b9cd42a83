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

    /// Kills the primary, and makes its standby the primary, without the loss of a confirmed commit.
    func failOver() async throws { try await run("fail-over") }

    /// Lets commits end without the standby.
    func setAsynchronous() async throws { try await run("set-asynchronous") }
}
