import ArgumentParser
import Foundation
import ScrollbackModel

struct Attack: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure what a hostile user does to the server and to another user.",
        discussion: """
            For each attack, a server starts with its default limits and 10,000 messages. A well-behaved user sends, \
            lists conversations, connects and uploads small files, first without and then during the attack. Prints a \
            row for each attack.

            The attackers run in another process at a lower priority (nice 10) and connect from 127.0.0.2, so that \
            neither their own work nor limits for an address delay the measuring user. All processes share the cores \
            of the machine.

            Fails if an attack misses a goal: the user's p99 is at most 100 ms or 3 times the quiet one, none of the \
            user's requests fails, and the server's memory grows by at most 64 MiB.

            Attacks: \(AttackKind.allCases.map(\.rawValue).joined(separator: ", ")).
            """)

    @Argument(help: "The attacks (default: all).")
    var attacks: [AttackKind] = []
    @Option(help: "The duration of each attack in seconds, 1...600.") var seconds = 10.0
    @Option(help: "The time without an attack before it in seconds, 1...600.") var quiet = 5.0
    @Option(help: "The number of messages that searches find, at least 100.") var messages = 10_000
    @OptionGroup var sizes: AttackSizes
    @Flag(help: "Print a JSON object.") var json = false

    func run() async throws {
        guard 1...600 ~= seconds, 1...600 ~= quiet, messages >= 100 else {
            throw ValidationError("--seconds and --quiet must be in 1...600, and --messages at least 100.")
        }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let data = folder.url.appending(path: "prepared")
        progress("Preparing \(messages) messages. Attackers run in a process with nice 10 and connect from 127.0.0.2.")
        try await prepare(data)
        if !json { print(AttackResult.header) }
        var results: [AttackResult] = []
        for kind in attacks.isEmpty ? AttackKind.allCases : attacks {
            progress("\(kind.rawValue): \(kind.summary(sizes))")
            let copy = folder.url.appending(path: "data")
            try FileManager.default.copyItem(at: data, to: copy)
            defer { try? FileManager.default.removeItem(at: copy) }
            results.append(try await measure(kind, copy))
            if !json {
                print(results[results.count - 1].row)
                fflush(nil)
            }
        }
        if json { try printJSON(["attacks": results]) }
        guard results.allSatisfy(\.missed.isEmpty) else { throw ExitCode.failure }
    }

    // MARK: Preparation

    /// Makes a data directory with the messages that searches find, the conversations of alice, and notices.
    private func prepare(_ data: URL) async throws {
        try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
        let server = try ServerProcess(on: data)
        defer { server.stop() }
        let start = Date().addingTimeInterval(-86_400)
        let words = ["alpha", "beta", "city", "answer", "bridge", "cloud", "apple", "bottle", "candle"]
        var logs = ""
        for number in 0..<messages {
            // Every text matches the words a, b and c.
            let text = (0..<12).map { words[(number / 7 + $0 * (1 + number % 5)) % words.count] }.joined(separator: " ")
            logs += line(number, "logs", ["mallory", "alice", "bob"][number % 3], start, "apple bottle city " + text)
        }
        try importLines(logs, "group", server)
        // The recent conversations of alice.
        try importLines(
            (0..<400).map { number in
                line(number, "c\(number / 4)", number % 2 == 0 ? "alice" : "friend\(number / 4)", start, "Good morning")
            }.joined(), "direct", server)
        let admin = Preparation(server: server, admin: try await Tokens(server.directory).admin())
        try await admin.call("PUT", "/v1/settings", #"{"notices":true}"#)
        try await server.waitUntilIdle()
    }

    private func line(_ number: Int, _ channel: String, _ sender: String, _ start: Date, _ text: String) -> String {
        let time = start.addingTimeInterval(Double(number)).iso8601
        return #"{"id":"\#(channel)-\#(number)","channel":"\#(channel)","sender":"\#(sender)","time":"\#(time)","#
            + #""text":"\#(text)"}"# + "\n"
    }

    private func importLines(_ lines: String, _ kind: String, _ server: ServerProcess) throws {
        let file = server.directory.appending(path: "\(kind).jsonl")
        try Data(lines.utf8).write(to: file)
        try server.command(["import", file.path, "--kind", kind])
        try FileManager.default.removeItem(at: file)
    }

    // MARK: Measurement

    private func measure(_ kind: AttackKind, _ data: URL) async throws -> AttackResult {
        // 1,024 is the usual soft limit of descriptors.
        let server = try ServerProcess(on: data, limitsUsers: true, descriptors: 1024)
        defer { server.kill() }
        let tokens = try await Tokens(data)
        let user = WellBehavedUser(
            server.address, alice: try await tokens.token("alice"), carol: try await tokens.token("carol"))
        async let running: Void = user.run()
        // The first requests fill caches.
        try await Task.sleep(for: .seconds(1))
        let (quietStart, quietCPU) = (now(), server.cpuSeconds)
        try await Task.sleep(for: .seconds(quiet))
        let (quietEnd, before, cpu) = (now(), server.residentKiB, server.cpuSeconds)
        let earlierPeak = server.peakResidentKiB
        var attacker = try AttackerRun(kind, server, seconds: seconds, sizes)
        let start = now()
        var peak = before
        while now() < start + seconds {
            try await Task.sleep(for: .milliseconds(100))
            peak = max(peak, server.residentKiB)
        }
        let end = now()
        let used = server.cpuSeconds - cpu
        if server.peakResidentKiB > earlierPeak { peak = max(peak, server.peakResidentKiB) }
        let tally = try attacker.finish()
        user.stop()
        try await running
        let ending = server.ending
        var result = AttackResult(
            attack: kind, description: kind.summary(sizes), seconds: end - start, memoryBefore: before / 1024,
            memoryPeak: peak / 1024, cpuQuiet: (cpu - quietCPU) / (quietEnd - quietStart),
            cpuAttacked: max(0, used) / (end - quietEnd), attacker: tally)
        for work in UserWork.allCases {
            func latencies(_ from: Double, _ to: Double) -> AttackResult.Latencies {
                .init(user.entries(from: from, to: to).filter { $0.work == work })
            }
            result.user[work] = .init(quiet: latencies(quietStart, quietEnd), attacked: latencies(start, end))
        }
        result.judge(ending: ending)
        return result
    }
}

/// The process of one attack.
private struct AttackerRun {
    private let process = Process()
    private let output = Pipe()
    /// The process ends when this closes.
    private let input = Pipe()
    private var text = ""

    /// Starts the process and waits until it attacks.
    init(_ kind: AttackKind, _ server: ServerProcess, seconds: Double, _ sizes: AttackSizes) throws {
        process.executableURL = URL(filePath: CommandLine.arguments[0])
        process.arguments =
            [
                "attacker", kind.rawValue, "--server", server.address.absoluteString, "--data",
                server.directory.path, "--seconds", "\(seconds)",
            ] + sizes.arguments
        process.standardOutput = output
        process.standardInput = input
        try process.run()
        ChildProcesses.add(process.processIdentifier)
        while !text.contains("ready\n") {
            let bytes = output.fileHandleForReading.availableData
            guard !bytes.isEmpty else { throw BenchError("The attacker did not start.") }
            text += String(decoding: bytes, as: UTF8.self)
        }
    }

    /// Waits for the end of the process and returns what it achieved.
    mutating func finish() throws -> AttackTally {
        defer { ChildProcesses.remove(process.processIdentifier) }
        while true {
            let bytes = output.fileHandleForReading.availableData
            guard !bytes.isEmpty else { break }
            text += String(decoding: bytes, as: UTF8.self)
        }
        process.waitUntilExit()
        guard let line = text.split(separator: "\n").last,
            let tally = try? JSONDecoder().decode(AttackTally.self, from: Data(line.utf8))
        else { throw BenchError("The attacker ended with status \(process.terminationStatus).") }
        return tally
    }
}

/// Writes a line of progress, separate from the results.
func progress(_ text: String) {
    FileHandle.standardError.write(Data((text + "\n").utf8))
}

func printJSON(_ value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    print(String(decoding: try encoder.encode(value), as: UTF8.self))
}
