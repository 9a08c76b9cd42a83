import Foundation
import ScrollbackPostgres
import TestSupport

/// A PostgreSQL primary with a synchronous standby, which `scripts/postgres-pair.sh` runs.
final class PostgresPair: Sendable {
    private let folder: TemporaryFolder
    /// The URL of the database on the server that is the primary.
    let url: PostgresURL

    private static let script = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        .appending(path: "scripts/postgres-pair.sh")

    /// Starts both servers.
    static func start() async throws -> PostgresPair {
        // The path of a socket must be short.
        let folder = try TemporaryFolder(in: URL(filePath: "/tmp"))
        // PostgreSQL may run as another user.
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.url.path)
        let output = try await run("start", folder)
        let line = output.split(separator: "\n").last.map(String.init) ?? ""
        return PostgresPair(folder, try PostgresURL(line))
    }

    private init(_ folder: TemporaryFolder, _ url: PostgresURL) {
        self.folder = folder
        self.url = url
    }

    deinit {
        // Unlike a child process, the servers would outlive the tests.
        let stop = Process()
        (stop.executableURL, stop.arguments) = (Self.script, ["stop", folder.url.path])
        guard (try? stop.run()) != nil else { return }
        stop.waitUntilExit()
    }

    private static func run(_ command: String, _ folder: TemporaryFolder) async throws -> String {
        let process = try ChildProcess(script.path, [command, folder.url.path], name: command, folder: folder.url)
        guard try await process.waitForEnd(within: 300) == 0 else {
            throw ChildProcess.Failure(description: "\(command) of PostgreSQL failed: \(process.errorText)")
        }
        return process.outputText
    }

    /// Kills the primary, and makes its standby the primary, without the loss of a confirmed commit.
    func failOver() async throws { _ = try await Self.run("fail-over", folder) }
}
