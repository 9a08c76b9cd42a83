import Foundation
import Synchronization

/// A server in a separate process, whose CPU time and memory can be measured.
final class ServerProcess {
    let address: URL
    let directory: URL
    private var process: Process
    private let folder: TemporaryFolder
    private let options: [String]
    private let descriptors: Int?

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - options: Additional options of `serve`.
    ///   - data: An existing data directory to keep, or `nil` for a temporary one.
    ///   - limitsUsers: Whether the server has its usual limits for the requests and connections of one user.
    ///   - descriptors: The soft limit of open descriptors with which the server starts, or `nil` for that of this
    ///     process.
    init(
        _ options: [String] = [], on data: URL? = nil, limitsUsers: Bool = false, descriptors: Int? = nil
    ) throws {
        folder = try TemporaryFolder()
        directory = data ?? folder.url
        let unlimited =
            ["send", "write", "read", "lookup", "search", "everyone"].flatMap { ["--\($0)-rate", "0"] }
            + ["--connections-per-address", "0", "--connections-per-user", "0", "--search-seconds", "3600"]
            + ["--upload-rate", "0"]
        self.options = (limitsUsers ? [] : unlimited) + options
        self.descriptors = descriptors
        (process, address) = try Self.start(directory, port: 0, self.options, descriptors)
    }

    private static let program = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appending(path: "scrollback")

    private static func start(
        _ directory: URL, port: Int, _ options: [String], _ descriptors: Int?
    ) throws -> (Process, URL) {
        let process = Process()
        let arguments =
            ["serve", "--data", directory.path, "--port", String(port), "--log-level", "error"] + options
        if let descriptors {
            process.executableURL = URL(filePath: "/bin/sh")
            process.arguments = ["-c", #"ulimit -S -n \#(descriptors); exec "$0" "$@""#, program.path] + arguments
        } else {
            process.executableURL = program
            process.arguments = arguments
        }
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        ChildProcesses.add(process.processIdentifier)
        var text = ""
        while !text.contains("\n") {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { throw BenchError("The server did not start.") }
            text += String(decoding: data, as: UTF8.self)
        }
        guard let word = text.split(separator: "\n").first?.split(separator: " ").last,
            let url = URL(string: String(word))
        else { throw BenchError("The server printed no address: \(text)") }
        return (process, url)
    }

    /// Sends a signal and waits until the process exits.
    ///
    /// Keeps the data directory.
    func end(_ signal: Int32) {
        _ = Foundation.kill(process.processIdentifier, signal)
        process.waitUntilExit()
        ChildProcesses.remove(process.processIdentifier)
    }

    /// Starts the server again with the same directory and port, and waits until it listens.
    func restart() throws {
        (process, _) = try Self.start(directory, port: address.port ?? 0, options, descriptors)
    }

    /// How the process ended, or `nil` while it runs.
    var ending: String? {
        guard !process.isRunning else { return nil }
        return process.terminationReason == .exit
            ? "exit code \(process.terminationStatus)" : "signal \(process.terminationStatus)"
    }
    var processIdentifier: Int32 { process.processIdentifier }

    /// The CPU time of the server process so far, in seconds.
    var cpuSeconds: Double { Self.cpuSeconds(of: processIdentifier) }

    static func cpuSeconds(of process: Int32) -> Double {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return 0 }
        let fields = text[text.index(after: end)...].split(separator: " ")
        return (Double(fields[11]) ?? 0) / Double(sysconf(Int32(_SC_CLK_TCK)))
            + (Double(fields[12]) ?? 0) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Waits until the server is idle, so that indexing after an import is not part of a measurement.
    func waitUntilIdle(limit: Double = 300) async throws {
        var quiet = 0
        let end = now() + limit
        while quiet < 4 {
            guard now() < end else { throw BenchError("The server is still busy after \(Int(limit)) seconds.") }
            let before = cpuSeconds
            try await Task.sleep(for: .milliseconds(500))
            quiet = cpuSeconds - before > 0.03 ? 0 : quiet + 1
        }
    }

    /// The resident memory in KiB.
    var residentKiB: Double { status("VmRSS") }

    /// The peak resident memory in KiB.
    var peakResidentKiB: Double { status("VmHWM") }

    private func status(_ field: String) -> Double {
        let text = (try? String(contentsOfFile: "/proc/\(processIdentifier)/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix(field + ":") } ?? ""
        return Double(line.split(separator: " ").dropFirst().first ?? "0") ?? 0
    }

    /// The number of open descriptors.
    var descriptorCount: Int {
        let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(processIdentifier)/fd")
        return open?.count ?? 0
    }

    /// The number of bytes that the process has written to disk.
    var writtenBytes: Int {
        let text = (try? String(contentsOfFile: "/proc/\(processIdentifier)/io", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("write_bytes:") } ?? ""
        return Int(line.split(separator: " ").last ?? "0") ?? 0
    }

    /// Runs a command of the command-line tool with this server.
    func command(_ arguments: [String]) throws {
        try Self.run(arguments + ["--server", address.absoluteString, "--data", directory.path])
    }

    /// Runs the command-line tool, and waits until it ends.
    static func run(_ arguments: [String]) throws {
        let command = Process()
        command.executableURL = program
        command.arguments = arguments
        command.standardOutput = FileHandle.nullDevice
        try command.run()
        command.waitUntilExit()
        guard command.terminationStatus == 0 else { throw BenchError("The command \(arguments[0]) failed.") }
    }

    func stop() {
        end(SIGTERM)
        folder.remove()
    }

    /// Kills the server, which may be too busy for an orderly end.
    func kill() {
        end(SIGKILL)
        folder.remove()
    }
}

struct BenchError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
