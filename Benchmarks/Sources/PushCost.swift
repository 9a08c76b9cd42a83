import ArgumentParser
import Foundation
import ScrollbackModel

struct PushCost: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push-cost",
        abstract: "Measure the cost of a send with pushes to many offline members, next to one without push devices.",
        discussion: """
            Pushes go to a stand-in on 127.0.0.1 that accepts each one immediately. The first part sends one message \
            at a time and waits for all of its pushes. The second part does not wait for pushes, so that they are \
            combined: each member gets one push for the newest message.
            """)

    @Option(help: "The number of offline members with one push device each.") var away = 1000
    @Option(help: "The push service. apns requires the program openssl.")
    var service = PushReceiver.Service.webhook
    @Option(help: "The number of sends of the first part.") var sends = 10
    @Option(help: "The number of concurrent sends, measured in addition to one.") var inFlight = 16
    @Option(help: "The duration of each round of the second part, in seconds.") var duration = 3.0
    @Option(help: "The number of rounds, each with and without devices.") var rounds = 2
    @Option(help: "The number of members of the community for @everyone, more than --away. 0 skips the community.")
    var community = 100_000
    @Option(help: "The number of channels of the community.") var channels = 500

    /// The conversation and the mentions of the sends.
    private struct Scenario {
        var name: String
        /// The conversation that has the members.
        var group: ConversationID
        var members: Int
        var channels = 0
        var conversation: ConversationID
        var mentions: Mentions?
    }

    func run() async throws {
        guard away >= 1, sends >= 1, inFlight >= 1, duration > 0, rounds >= 1, channels >= 1,
            community == 0 || community > away
        else {
            throw ValidationError(
                """
                --away, --sends, --in-flight, --rounds and --channels must be at least 1, --duration above 0, and \
                --community above --away or 0.
                """)
        }
        let receiver = try await PushReceiver(service)
        defer { receiver.stop() }
        let group = Scenario(
            name: "group", group: .group("away"), members: away + 1, conversation: .group("away"))
        try await measure(group, receiver, inFlight: inFlight == 1 ? [1] : [1, inFlight])
        guard community > 0 else { return }
        let everyone = Scenario(
            name: "@everyone", group: .community("city"), members: community, channels: channels,
            conversation: .community("city", channel: "channel0"), mentions: .everyone())
        try await measure(everyone, receiver, inFlight: [1])
    }

    private func measure(_ scenario: Scenario, _ receiver: PushReceiver, inFlight: [Int]) async throws {
        let without = try ServerProcess(try receiver.serverOptions())
        defer { without.stop() }
        let with = try ServerProcess(try receiver.serverOptions())
        defer { with.stop() }
        try await prepare(scenario, without, receiver, hasDevices: false)
        try await prepare(scenario, with, receiver, hasDevices: true)
        report(
            scenario.name, "\(scenario.members) members, \(away) offline with a device, pushed by \(service.rawValue)"
        )
        try await measureEach(scenario, with, receiver)
        let comparison = Comparison(first: "without devices", second: "with", rounds: rounds)
        for count in inFlight {
            var written = [0.0, 0.0]
            var pushes = 0
            let figures = try await comparison.compare("\(scenario.name): \(count) in flight", in: .each("send")) {
                which, round in
                let server = [without, with][which]
                let before = (pushes: receiver.count, written: server.writtenBytes)
                let (figures, start, end) = try await load(scenario, server, receiver, inFlight: count)
                written[which] += Double(server.writtenBytes - before.written)
                let arrived = receiver.count - before.pushes
                guard which == 0 ? arrived == 0 : arrived >= away else {
                    throw BenchError(
                        "\(arrived) pushes arrived \(which == 0 ? "without devices" : "for \(away) devices").")
                }
                pushes += arrived
                if which == 1 {
                    report(
                        "  pushes of round \(round)",
                        String(
                            format: "%d for %.0f sends, %.0f per second, the last %.2f s after the last send", arrived,
                            figures.amount, Double(arrived) / (receiver.last - start), max(0, receiver.last - end)))
                }
                return figures
            }
            let (none, all) = figures
            let more = all.cpuSecondsPerUnit - none.cpuSecondsPerUnit
            report(
                "  pushes",
                String(
                    format: "%.1f per send, additional server CPU %.3f ms per send, %.3f ms per push",
                    Double(pushes) / all.amount,
                    more * 1000, more * all.amount / Double(pushes) * 1000))
            report(
                "  written to disk",
                String(
                    format: "%@ %.1f KiB per send   %@ %.1f", comparison.first, written[0] / 1024 / none.amount,
                    comparison.second,
                    written[1] / 1024 / all.amount))
        }
    }

    // MARK: Preparation

    private func prepare(
        _ scenario: Scenario, _ server: ServerProcess, _ receiver: PushReceiver, hasDevices: Bool
    ) async throws {
        let tokens = try await Tokens(server.directory)
        let preparation = Preparation(server: server, admin: try await tokens.admin())
        try await preparation.call("PUT", "/v1/settings", try receiver.settings())
        try await preparation.make(scenario.group, members: scenario.members, channels: scenario.channels)
        // Warm up both servers.
        let client = try await sender(server)
        _ = await client.sendTexts(to: scenario.conversation, mentions: scenario.mentions) { $0 < 100 }
        client.close()
        try await server.waitUntilIdle()
        if hasDevices {
            var calls: [Preparation.Call] = []
            for number in 1...away {
                calls.append(
                    .init(
                        "PUT", "/v1/push/devices/phone", try receiver.device(number),
                        as: try await tokens.token(user(number))))
            }
            try await preparation.calls(calls)
        }
        try await server.waitUntilIdle()
    }

    private func sender(_ server: ServerProcess) async throws -> LoadClient {
        try await LoadClient(server.address, token: try await Tokens(server.directory).token(user(0)), device: "sender")
    }

    // MARK: Sending

    /// Sends messages one by one.
    ///
    /// Waits for all pushes of each message.
    private func measureEach(_ scenario: Scenario, _ server: ServerProcess, _ receiver: PushReceiver) async throws {
        let client = try await sender(server)
        defer { client.close() }
        func send() async throws -> (acknowledged: Sample, delivered: Double) {
            let before = receiver.count
            let start = now()
            let sample = await client.sendTexts(to: scenario.conversation, mentions: scenario.mentions) { $0 == 0 }
            try await receiver.wait(for: before + away)
            return (sample, receiver.last - start)
        }
        // The first send opens the connections to the service.
        _ = try await send()
        try await server.waitUntilIdle()
        let before = (cpu: server.cpuSeconds, pushes: receiver.count)
        var acknowledged = Sample()
        var delivered = Sample()
        for _ in 0..<sends {
            let one = try await send()
            acknowledged.add(one.acknowledged)
            delivered.add(one.delivered)
        }
        try await server.waitUntilIdle()
        let cpu = server.cpuSeconds - before.cpu
        guard receiver.count - before.pushes == sends * away else {
            throw BenchError("\(receiver.count - before.pushes) pushes arrived instead of \(sends) times \(away).")
        }
        report("\(scenario.name): one at a time", "acknowledged \(acknowledged.summary)")
        report(
            "\(scenario.name): until all were pushed",
            String(
                format: "%@   %.0f pushes per second   server CPU %.1f ms per send, %.3f ms per push",
                delivered.summary,
                Double(away) / delivered.mean * 1000, cpu / Double(sends) * 1000, cpu / Double(sends * away) * 1000))
    }

    /// Sends messages without waiting for pushes, and then waits for all pushes.
    ///
    /// - Returns: The results, and the times of the first and the last send.
    private func load(
        _ scenario: Scenario, _ server: ServerProcess, _ receiver: PushReceiver, inFlight: Int
    ) async throws -> (Figures, start: Double, end: Double) {
        let meter = Meter(server, admin: try await Tokens(server.directory).admin())
        let client = try await sender(server)
        defer { client.close() }
        let cpu = server.cpuSeconds
        let start = now()
        let sample = await runConcurrently(inFlight) { [duration] _ in
            await client.sendTexts(to: scenario.conversation, mentions: scenario.mentions) { _ in
                now() < start + duration
            }
        }
        let end = now()
        try await waitUntilPushed(meter, receiver)
        try await server.waitUntilIdle()
        let count = Double(sample.count)
        let figures = Figures(
            rates: [count / (end - start)], durations: sample, cpuSeconds: server.cpuSeconds - cpu, amount: count)
        return (figures, start, end)
    }

    /// Waits until no pushes are queued.
    ///
    /// Requests the metrics only after a pause in pushes, because each request costs CPU time.
    private func waitUntilPushed(_ meter: Meter, _ receiver: PushReceiver) async throws {
        let end = now() + 600
        while now() < end {
            let count = receiver.count
            try await Task.sleep(for: .milliseconds(300))
            guard receiver.count == count else { continue }
            let waiting = try await meter.value("scrollback_push_waiting")
            let retries = try await meter.value("scrollback_push_retries")
            if waiting + retries == 0 { return }
        }
        throw BenchError("Pushes are still queued after ten minutes. Use a shorter --duration or fewer --in-flight.")
    }
}
