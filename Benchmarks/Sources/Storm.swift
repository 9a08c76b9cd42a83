import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackWire
import Synchronization

struct Storm: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure a restart of the server: all clients reconnect within a second while some of them send."
    )

    @Option(help: "The number of clients in addition to the senders, 1...10,000.") var clients = 2000
    @Option(help: "The number of senders with one message in flight each.") var senders = 50
    @Option(help: "The number of members of each group, with at most one sender per group.") var groupSize = 20
    @Option(help: "The time before the server stops, in seconds, at least 0.5.") var before = 5.0
    @Option(help: "The time within which all clients reconnect, in milliseconds.") var within = 1000

    func run() async throws {
        guard clients >= 1, senders >= 1, groupSize >= 1, clients <= 10_000, before >= 0.5, within >= 0 else {
            throw ValidationError(
                "--clients must be in 1...10000, --senders and --group-size at least 1, and --before at least 0.5.")
        }
        for (name, signal) in [("SIGTERM", SIGTERM), ("SIGKILL", SIGKILL)] { try await measure(name, signal) }
    }

    private func measure(_ name: String, _ signal: Int32) async throws {
        let server = try ServerProcess()
        defer { server.stop() }
        let tokens = try await Tokens(server.directory)
        let allClients = try await makeClients(tokens)
        try await prepare(Preparation(server: server, admin: try await tokens.admin()), allClients)
        let address = server.address
        try await forEachConcurrently(allClients) { _, client in try await client.connect(to: address) }
        let resident = server.residentKiB

        let sending = Senders(Array(allClients.prefix(senders)))
        async let ended: Void = sending.run()
        try await Task.sleep(for: .seconds(before))
        let down = now()
        server.end(signal)
        try server.restart()
        let up = now()

        let times = Mutex(Sample())
        let failures = Mutex(0)
        try await forEachConcurrently(allClients) { [within] _, client in
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...max(0, within))))
            while true {
                do {
                    try await client.connect(to: address)
                    break
                } catch {
                    // Retry after a delay, as a real client does.
                    failures.withLock { $0 += 1 }
                    try await Task.sleep(for: .milliseconds(Int.random(in: 50...250)))
                }
            }
            let whole = now()
            times.withLock { $0.add(whole - up) }
        }
        let whole = now()
        let peak = server.peakResidentKiB
        // Continue for a while to show that later sends are as fast as before.
        try await Task.sleep(for: .seconds(2))
        sending.stop()
        await ended
        try await Task.sleep(for: .seconds(1))
        let missed = allClients.map(\.missed)

        report(
            "\(name): \(allClients.count) clients",
            String(
                format: "down %.2f s  last synchronized %.2f s after the server was up  each %@  %d attempts failed",
                up - down,
                whole - up, times.withLock { $0.summary }, failures.withLock { $0 }))
        report(
            "\(name): missed messages",
            "\(missed.reduce(0, +)) requested in total, at most \(missed.max() ?? 0) by one client")
        report(
            "\(name): server memory",
            String(format: "%.0f MiB before, peak %.0f MiB", resident / 1024, peak / 1024))
        report("\(name): sends before", sending.latencies(begun: 0..<down, ended: 0..<down))
        report("\(name): sends over the restart", sending.latencies(begun: 0..<up, ended: down..<Double.infinity))
        report("\(name): sends started in the storm", sending.latencies(begun: up..<whole))
        report("\(name): sends after", sending.latencies(begun: whole..<Double.infinity))
        try await verifyFinalState(name, server, tokens, sending, allClients)
        for client in allClients { client.close() }
    }

    // MARK: Preparation

    private var groups: Int { (clients + senders + groupSize - 1) / groupSize }

    /// The clients.
    ///
    /// The senders come first and are distributed among the groups.
    private func makeClients(_ tokens: Tokens) async throws -> [StormClient] {
        var stormClients: [StormClient] = []
        for number in 0..<(senders + clients) {
            stormClients.append(
                StormClient(
                    user(number), in: .group(Identifier(known: "storm\(number % groups)")),
                    token: try await tokens.token(user(number))))
        }
        return stormClients
    }

    private func prepare(_ preparation: Preparation, _ stormClients: [StormClient]) async throws {
        let groups = self.groups
        let members = Dictionary(grouping: stormClients.indices) { $0 % groups }
        try await preparation.calls(
            members.map { group, members in
                let names = members.map { "\"\(stormClients[$0].user)\"" }.joined(separator: ",")
                return Preparation.Call("PUT", "/v1/conversations/group:storm\(group)", "{\"members\":[\(names)]}")
            })
    }

    private func forEachConcurrently(
        _ stormClients: [StormClient], _ body: @escaping @Sendable (Int, StormClient) async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for (number, client) in stormClients.enumerated() { tasks.addTask { try await body(number, client) } }
            try await tasks.waitForAll()
        }
    }

    /// Checks that each acknowledged message is stored once, and that every client has all messages.
    private func verifyFinalState(
        _ name: String, _ server: ServerProcess, _ tokens: Tokens, _ sending: Senders, _ stormClients: [StormClient]
    ) async throws {
        var heads: [Int: Seq] = [:]
        var lagging = 0
        for (number, client) in stormClients.enumerated() {
            let group = number % groups
            if heads[group] == nil {
                var reader = try JSONReader(
                    try await client.request(Subscribe([.group(Identifier(known: "storm\(group)"))])))
                try reader.object { (name, value) throws(ChatError) in
                    guard name == "heads" else { return try value.skip() }
                    _ = try value.list("heads", limit: 1) { (head) throws(ChatError) in
                        heads[group] = try ConversationHead(from: &head).head
                    }
                }
            }
            if client.seq != heads[group] { lagging += 1 }
        }
        let stored = Int(heads.values.reduce(0, +))
        report(
            "\(name): final state",
            "\(sending.acknowledged) sends acknowledged, \(stored) messages stored, \(lagging) clients incomplete")
        guard stored == sending.acknowledged, lagging == 0 else {
            throw BenchError(
                "\(name): the stored messages differ from the acknowledged ones, or a client is incomplete.")
        }
    }
}

/// Senders that send one message after another.
///
/// A send interrupted by the restart is retried with its ID.
private final class Senders: Sendable {
    private let senders: [StormClient]
    private let isStopped = Atomic<Bool>(false)
    private let done = Mutex<[(start: Double, end: Double)]>([])

    init(_ senders: [StormClient]) {
        self.senders = senders
    }

    func stop() { isStopped.store(true, ordering: .relaxed) }
    var acknowledged: Int { done.withLock { $0.count } }

    func run() async {
        await withTaskGroup(of: Void.self) { tasks in
            for sender in senders {
                tasks.addTask { [self] in
                    var generator = SystemRandomNumberGenerator()
                    let content = MessageContent.text(String(repeating: "x", count: 289))
                    while !isStopped.load(ordering: .relaxed) {
                        let submission = Submission(id: MessageID(at: Date(), using: &generator), content: content)
                        let start = now()
                        // Retry until the message is acknowledged.
                        while (try? await sender.send(submission)) == nil {
                            try? await Task.sleep(for: .milliseconds(20))
                        }
                        let end = now()
                        done.withLock { $0.append((start, end)) }
                    }
                }
            }
        }
    }

    func latencies(begun: Range<Double>, ended: Range<Double> = 0..<Double.infinity) -> String {
        var sample = Sample()
        for send in done.withLock({ $0 }) where begun.contains(send.start) && ended.contains(send.end) {
            sample.add(send.end - send.start)
        }
        return "\(sample.count)  \(sample.summary)"
    }
}
