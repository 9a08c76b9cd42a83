import ArgumentParser
import Foundation

struct Soak: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure whether the server's memory, descriptors, files and CPU time grow under a constant load.",
        discussion: """
            Users with two devices each send, edit, delete, react, mark as read, search, read pages, upload, change \
            groups and reconnect, at a constant rate. Groups are emptied or deleted regularly, so that the stored \
            data does not grow either.

            Prints a line at the start and every minute. At the end, fits a line to each figure after the first \
            fifth of the time. Fails if a figure grew by more than its limit, if the server failed requests, or if it \
            ended.
            """)

    @Option(help: "The duration in minutes, 0.5...1440.") var minutes = 30.0
    @Option(help: "The number of users, 5...500.") var users = 20
    @Option(help: "The number of requests per second of all users, 1...2000.") var rate = 60.0
    @Option(help: "The seed of the random requests.") var seed: UInt64 = 1
    @Flag(help: "Print a JSON object.") var json = false

    func run() async throws {
        guard 0.5...1440 ~= minutes, 5...500 ~= users, 1...2000 ~= rate else {
            throw ValidationError(
                "--minutes must be in 0.5...1440, --users in 5...500 and --rate in 1...2000.")
        }
        let server = try ServerProcess(limitsUsers: true)
        defer { server.stop() }
        let tokens = try await Tokens(server.directory)
        var userTokens: [String] = []
        for number in 0..<users {
            userTokens.append(try await tokens.token(user(number), lifetime: minutes * 60 + 600))
        }
        let load = SoakLoad(
            server.address, users: users, rate: rate / Double(users), seed: seed, lifetime: minutes * 6,
            tokens: userTokens, admin: try await tokens.admin(lifetime: minutes * 60 + 600))
        progress("\(users) users, \(rate) requests per second, seed \(seed)")
        if !json { print(SoakSample.header) }
        async let running: Void = load.run()
        let samples = try await measure(load, server)
        load.stop()
        try await running
        let report = SoakReport(samples, ending: server.ending)
        if json { try printJSON(report) } else { print(report.text) }
        guard report.isPassed else { throw ExitCode.failure }
    }

    /// Takes samples at the start and every minute, or more often in a short run.
    private func measure(_ load: SoakLoad, _ server: ServerProcess) async throws -> [SoakSample] {
        let start = now()
        let interval = min(60, minutes * 60 / 10)
        var samples: [SoakSample] = []
        var last = (time: start, cpu: server.cpuSeconds)
        for number in 0... {
            let time = start + Double(number) * interval
            guard time <= start + minutes * 60 + 0.001 else { break }
            try await Task.sleep(for: .seconds(max(0, time - now())))
            let current = (time: now(), cpu: server.cpuSeconds)
            let sample = SoakSample(
                server, minute: (current.time - start) / 60, elapsed: current.time - last.time,
                cpu: current.cpu - last.cpu, load.takeCounts())
            last = current
            samples.append(sample)
            if !json {
                print(sample.row)
                fflush(nil)
            }
            guard server.ending == nil else { break }
        }
        return samples
    }
}
