import ArgumentParser
import Foundation
import ScrollbackModel

struct PushCost: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push-cost",
        abstract: "What a send costs that is pushed to many who are away, beside the same where nobody has a device.",
        discussion: """
            Pushes go to a stand-in on 127.0.0.1 that takes each at once. First the sends come one at a time, each when all \
            were pushed the one before. Those that wait for no push are pushed together, the newest of them to each member.
            """)

    @Option(help: "Members who are away, with a device each.") var away = 1000
    @Option(help: "What they are pushed by; apns takes the program openssl.")
    var service = PushReceiver.Service.webhook
    @Option(help: "Sends that are measured one after the other, each until its pushes came.") var sends = 10
    @Option(help: "Sends in flight, besides one.") var inFlight = 16
    @Option(help: "Seconds a round of sends that wait for no push.") var duration = 3.0
    @Option(help: "Rounds; with and without devices take turns in each.") var rounds = 2
    @Option(help: "Members of a community where a send mentions everyone, some of them away with a device; 0 for none.")
    var community = 100_000
    @Option(help: "Channels of the community.") var channels = 500

    /// Where is sent, with what.
    private struct Scene {
        var name: String
        /// What has the members.
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
                --away, --sends, --in-flight, --rounds and --channels must be 1 or above, --duration above 0; \
                --community 0, or above --away
                """)
        }
        let receiver = try await PushReceiver(service)
        defer { receiver.stop() }
        let group = Scene(
            name: "group", group: .group("away"), members: away + 1, conversation: .group("away"))
        try await measure(group, receiver, inFlight: inFlight == 1 ? [1] : [1, inFlight])
        guard community > 0 else { return }
        let everyone = Scene(
            name: "@everyone", group: .community("city"), members: community, channels: channels,
            conversation: .community("city", channel: "channel0"), mentions: .everyone())
        try await measure(everyone, receiver, inFlight: [1])
    }

    private func measure(_ scene: Scene, _ receiver: PushReceiver, inFlight: [Int]) async throws {
        let without = try ServerProcess(try receiver.serverOptions())
        defer { without.stop() }
        let with = try ServerProcess(try receiver.serverOptions())
        defer { with.stop() }
        try await prepare(scene, without, receiver, hasDevices: false)
        try await prepare(scene, with, receiver, hasDevices: true)
        report(
            scene.name, "\(scene.members) members, \(away) of them away with a device, pushed by \(service.rawValue)")
        try await measureEach(scene, with, receiver)
        let turns = Turns(first: "without devices", second: "with", rounds: rounds)
        for count in inFlight {
            var written = [0.0, 0.0]
            var pushes = 0
            let figures = try await turns.compare("\(scene.name): \(count) in flight", in: .each("send")) {
                which, round in
                let server = [without, with][which]
                let before = (pushes: receiver.count, written: server.writtenBytes)
                let (figures, start, end) = try await load(scene, server, receiver, inFlight: count)
                written[which] += Double(server.writtenBytes - before.written)
                let came = receiver.count - before.pushes
                guard which == 0 ? came == 0 : came >= away else {
                    throw BenchError("\(came) pushes came \(which == 0 ? "without devices" : "for \(away) devices")")
                }
                pushes += came
                if which == 1 {
                    report(
                        "  pushes of round \(round)",
                        String(
                            format: "%d for %.0f sends, %.0f a second, the last %.2f s after the last send", came,
                            figures.amount, Double(came) / (receiver.last - start), max(0, receiver.last - end)))
                }
                return figures
            }
            let (none, all) = figures
            let more = all.cpuSecondsEach - none.cpuSecondsEach
            report(
                "  pushes",
                String(
                    format: "%.1f a send, server CPU %.3f ms more a send, %.3f ms a push", Double(pushes) / all.amount,
                    more * 1000, more * all.amount / Double(pushes) * 1000))
            report(
                "  written to disk",
                String(
                    format: "%@ %.1f KiB a send   %@ %.1f", turns.first, written[0] / 1024 / none.amount, turns.second,
                    written[1] / 1024 / all.amount))
        }
    }

    // MARK: What there is

    private func prepare(
        _ scene: Scene, _ server: ServerProcess, _ receiver: PushReceiver, hasDevices: Bool
    ) async throws {
        let tokens = try await Tokens(server.directory)
        let preparation = Preparation(server: server, admin: try await tokens.admin())
        try await preparation.call("PUT", "/v1/settings", try receiver.settings())
        try await preparation.make(scene.group, members: scene.members, channels: scene.channels)
        // Neither begins cold.
        let client = try await sender(server)
        _ = await client.sendTexts(to: scene.conversation, mentions: scene.mentions) { $0 < 100 }
        client.close()
        try await server.untilQuiet()
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
        try await server.untilQuiet()
    }

    private func sender(_ server: ServerProcess) async throws -> LoadClient {
        try await LoadClient(server.address, token: try await Tokens(server.directory).token(user(0)), device: "sender")
    }

    // MARK: Sending

    /// One send after the other, each until everybody was pushed it.
    private func measureEach(_ scene: Scene, _ server: ServerProcess, _ receiver: PushReceiver) async throws {
        let client = try await sender(server)
        defer { client.close() }
        func send() async throws -> (acknowledged: Sample, delivered: Double) {
            let before = receiver.count
            let start = now()
            let sample = await client.sendTexts(to: scene.conversation, mentions: scene.mentions) { $0 == 0 }
            try await receiver.wait(for: before + away)
            return (sample, receiver.last - start)
        }
        // The first makes the connections to the service.
        _ = try await send()
        try await server.untilQuiet()
        let before = (cpu: server.cpuSeconds, pushes: receiver.count)
        var acknowledged = Sample()
        var delivered = Sample()
        for _ in 0..<sends {
            let one = try await send()
            acknowledged.add(one.acknowledged)
            delivered.add(one.delivered)
        }
        try await server.untilQuiet()
        let cpu = server.cpuSeconds - before.cpu
        guard receiver.count - before.pushes == sends * away else {
            throw BenchError("\(receiver.count - before.pushes) pushes came, not \(sends) times \(away)")
        }
        report("\(scene.name): one at a time", "acknowledged \(acknowledged.summary)")
        report(
            "\(scene.name): until all were pushed",
            String(
                format: "%@   %.0f pushes a second   server CPU %.1f ms a send, %.3f ms a push", delivered.summary,
                Double(away) / delivered.mean * 1000, cpu / Double(sends) * 1000, cpu / Double(sends * away) * 1000))
    }

    /// Sends that wait for no push, and then for everything to be pushed.
    ///
    /// - Returns: besides, when the first and the last was sent.
    private func load(
        _ scene: Scene, _ server: ServerProcess, _ receiver: PushReceiver, inFlight: Int
    ) async throws -> (Figures, start: Double, end: Double) {
        let meter = Meter(server, admin: try await Tokens(server.directory).admin())
        let client = try await sender(server)
        defer { client.close() }
        let cpu = server.cpuSeconds
        let start = now()
        let sample = await together(inFlight) { [duration] _ in
            await client.sendTexts(to: scene.conversation, mentions: scene.mentions) { _ in now() < start + duration }
        }
        let end = now()
        try await untilPushed(meter, receiver)
        try await server.untilQuiet()
        let count = Double(sample.count)
        let figures = Figures(
            rates: [count / (end - start)], durations: sample, cpuSeconds: server.cpuSeconds - cpu, amount: count)
        return (figures, start, end)
    }

    /// Looks at the server only when no push came for a while: asking costs it something too.
    private func untilPushed(_ meter: Meter, _ receiver: PushReceiver) async throws {
        let end = now() + 600
        while now() < end {
            let count = receiver.count
            try await Task.sleep(for: .milliseconds(300))
            guard receiver.count == count else { continue }
            let waiting = try await meter.value("scrollback_push_waiting")
            let retries = try await meter.value("scrollback_push_retries")
            if waiting + retries == 0 { return }
        }
        throw BenchError("pushes still wait after ten minutes: take a shorter --duration or fewer --in-flight")
    }
}
