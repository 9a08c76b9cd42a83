import Foundation
import Synchronization
import TestSupport

/// A NATS server as a child process. The test must have the trait `needs(.nats)`.
final class NATSServer: Sendable {
    private let folder: TemporaryFolder
    private let port: Int
    private let process: Mutex<ChildProcess>

    var url: String { "nats://127.0.0.1:\(port)" }

    static func start() async throws -> NATSServer {
        let folder = try TemporaryFolder()
        let port = try RunningServer.freePort()
        return NATSServer(folder, port, try await run(on: port, folder))
    }

    private init(_ folder: TemporaryFolder, _ port: Int, _ process: ChildProcess) {
        self.folder = folder
        self.port = port
        self.process = Mutex(process)
    }

    deinit { stop() }

    private static func run(on port: Int, _ folder: TemporaryFolder) async throws -> ChildProcess {
        let process = try ChildProcess(
            Requirement.nats.path(), ["--addr", "127.0.0.1", "--port", "\(port)"], name: "nats", folder: folder.url)
        try await eventually("the NATS server listens", within: 60) {
            if let code = process.end {
                throw ChildProcess.Failure(description: "The NATS server ended with \(code): \(process.errorText)")
            }
            return process.errorText.contains("Server is ready") ? true : nil
        }
        return process
    }

    func signal(_ number: Int32) { process.withLock { $0 }.signal(number) }

    /// Sends SIGKILL to the server and waits until it has ended.
    func stop() { process.withLock { $0 }.kill() }

    /// Kills the server and starts it again on the same port.
    func restart() async throws {
        stop()
        let next = try await Self.run(on: port, folder)
        process.withLock { $0 = next }
    }
}
