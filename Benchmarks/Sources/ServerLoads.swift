import ArgumentParser
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import ScrollbackModel
import ScrollbackWire
import Synchronization

/// A user with a number.
func user(_ number: Int) -> UserID { UserID(known: "user\(number)") }

/// Counts received frames and other events.
final class EventCounter: Sendable {
    private let value = Atomic<Int>(0)

    /// Adds to the count and returns the new one.
    @discardableResult
    func add(_ number: Int = 1) -> Int { value.wrappingAdd(number, ordering: .relaxed).newValue }
    var count: Int { value.load(ordering: .relaxed) }
}

/// Runs a body several times concurrently and combines the samples.
func runConcurrently(_ count: Int, _ body: @escaping @Sendable (Int) async -> Sample) async -> Sample {
    await withTaskGroup(of: Sample.self) { group in
        for number in 0..<count {
            group.addTask { await body(number) }
        }
        var all = Sample()
        for await sample in group { all.add(sample) }
        return all
    }
}

extension LoadClient {
    /// Sends texts, each after the previous one is acknowledged.
    ///
    /// - Parameter shouldContinue: Called before each send with the number of acknowledged ones. Returns whether to
    ///   continue.
    func sendTexts(
        to conversation: ConversationID, mentions: Mentions? = nil, while shouldContinue: (_ sent: Int) -> Bool
    ) async -> Sample {
        var sample = Sample()
        var generator = SystemRandomNumberGenerator()
        let content = MessageContent.text(String(repeating: "x", count: 289))
        while shouldContinue(sample.count) {
            let sent = now()
            let submission = Submission(
                id: MessageID(at: Date(), using: &generator), content: content, attributes: .init(mentions: mentions))
            _ = await request(SendMessage(conversation: conversation, submission: submission))
            sample.add(now() - sent)
        }
        return sample
    }
}

/// The HTTP requests that prepare a benchmark.
struct Preparation {
    struct Call {
        var method: String
        var path: String
        var body: String
        /// The token of the request, or `nil` for the administrator's token.
        var token: String?

        init(_ method: String, _ path: String, _ body: String, as token: String? = nil) {
            self.method = method
            self.path = path
            self.body = body
            self.token = token
        }
    }

    private let address: String
    private let admin: String

    init(server: ServerProcess, admin: String) {
        address = server.address.absoluteString
        self.admin = admin
    }

    func call(_ method: String, _ path: String, _ body: String) async throws {
        _ = try await request(method, path, body, admin)
    }

    /// Sends many requests concurrently, in no particular order.
    func calls(_ calls: [Call]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            var rest = calls[...]
            func addNext() {
                guard let next = rest.popFirst() else { return }
                group.addTask { _ = try await request(next.method, next.path, next.body, next.token ?? admin) }
            }
            for _ in 0..<32 { addNext() }
            while try await group.next() != nil { addNext() }
        }
    }

    /// Creates a group, or a community with public channels.
    ///
    /// The members are the users from number 0.
    ///
    /// The first 1,000 members are added on creation. The others join one by one after the channels are created.
    func make(_ conversation: ConversationID, members: Int, channels: Int = 0) async throws {
        let path = "/v1/conversations/\(conversation)"
        let first = (0..<min(members, 1000)).map { "\"\(user($0))\"" }.joined(separator: ",")
        try await call("PUT", path, "{\"members\":[\(first)]}")
        try await calls((0..<channels).map { Call("PUT", "\(path)%2Fchannel\($0)", "{}") })
        try await calls((1000..<max(1000, members)).map { Call("PUT", "\(path)/members/\(user($0))", "{}") })
    }

    func get(_ path: String) async throws -> String { try await request("GET", path, nil, admin) }

    private func request(_ method: String, _ path: String, _ body: String?, _ token: String) async throws -> String {
        var request = HTTPClientRequest(url: address + path)
        request.method = .RAW(value: method)
        request.headers.add(name: "Authorization", value: "Bearer \(token)")
        if let body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(string: body))
        }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        let answer = String(buffer: try await response.body.collect(upTo: 16 << 20))
        guard (200..<300).contains(response.status.code) else {
            throw BenchError("\(method) \(path): \(response.status.code) \(answer)")
        }
        return answer
    }
}

struct Send: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure durable sends to direct conversations over WebSocket, with one message in flight per sender."
    )

    @Option var senders = 50
    @Option var duration = 8.0

    func run() async throws {
        let server = try ServerProcess()
        defer { server.stop() }
        let load = try await SendLoad(server, senders: senders)
        let cpu = server.cpuSeconds
        let (sample, elapsed) = await load.run(duration)
        let used = server.cpuSeconds - cpu
        report(
            "durable send, \(senders) senders",
            String(
                format: "%.0f/s  %@  (budget 5,900/s, p99 20 ms)  server CPU %.3f s per 1,000, delivered %d of %d",
                Double(sample.count) / elapsed, sample.summary, used / Double(sample.count) * 1000,
                load.delivered.count, sample.count))
    }
}

/// Senders with one message in flight each, in direct conversations.
struct SendLoad {
    let delivered = EventCounter()
    private var clients: [LoadClient] = []
    private var receivers: [LoadClient] = []

    init(_ server: ServerProcess, senders: Int) async throws {
        let tokens = try await Tokens(server.directory)
        // As in the peers' benchmark, each sender has a connected receiver.
        for number in 0..<senders {
            clients.append(
                try await LoadClient(server.address, token: tokens.token(user(number)), device: "sender"))
            receivers.append(
                try await LoadClient(server.address, token: tokens.token(user(number + 1000)), device: "receiver") {
                    [delivered] _ in delivered.add()
                })
        }
    }

    func close() {
        for client in clients + receivers { client.close() }
    }

    func run(_ duration: Double) async -> (sample: Sample, elapsed: Double) {
        let start = now()
        let end = start + duration
        let sample = await runConcurrently(clients.count) { [clients] number in
            await clients[number].sendTexts(to: .direct(user(number + 1000))) { _ in now() < end }
        }
        return (sample, now() - start)
    }
}

struct FanOut: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure deliveries per CPU second of the server in a group with many sockets.")

    @Option var sockets = 500
    @Option var duration = 8.0
    @Option(help: "The number of messages in flight.") var inFlight = 4

    func run() async throws {
        let server = try ServerProcess()
        defer { server.stop() }
        let tokens = try await Tokens(server.directory)
        try await Preparation(server: server, admin: tokens.admin()).make(.group("fan"), members: sockets)
        let delivered = EventCounter()
        var clients: [LoadClient] = []
        for number in 0..<sockets {
            clients.append(
                try await LoadClient(server.address, token: tokens.token(user(number)), device: "fan") { _ in
                    delivered.add()
                })
        }
        let sender = clients[0]
        let cpu = server.cpuSeconds
        let start = now()
        let end = start + duration
        let sample = await runConcurrently(inFlight) { [delivered, sockets] _ in
            var sample = Sample()
            while now() < end {
                let before = delivered.count
                sample.add(await sender.sendTexts(to: .group("fan")) { $0 == 0 })
                // Send the next message after most sockets received this one. Otherwise the benchmark would measure
                // queues.
                while delivered.count < before + sockets / 2, now() < end {
                    try? await Task.sleep(for: .microseconds(200))
                }
            }
            return sample
        }
        try await Task.sleep(for: .seconds(1))
        let used = server.cpuSeconds - cpu
        let count = delivered.count
        report(
            "fan-out to \(sockets) sockets",
            String(
                format: "%.0f deliveries per CPU second (budget 90,000)  %.0f/s  acknowledged %@  lost %d",
                Double(count) / used, Double(count) / duration, sample.summary, sample.count * (sockets - 1) - count))
        for client in clients { client.close() }
    }
}

struct Idle: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure the resident memory of an idle authenticated connection.")

    @Option var connections = 2000

    func run() async throws {
        let server = try ServerProcess()
        defer { server.stop() }
        let tokens = try await Tokens(server.directory)
        for number in 0..<50 {
            _ = try await LoadClient(server.address, token: tokens.token(user(number)), device: "warm")
        }
        let before = server.residentKiB
        var clients: [LoadClient] = []
        let cpu = server.cpuSeconds
        for number in 0..<connections {
            clients.append(
                try await LoadClient(server.address, token: tokens.token(user(number + 100)), device: "idle"))
        }
        let login = server.cpuSeconds - cpu
        try await Task.sleep(for: .seconds(10))
        let after = server.residentKiB
        report(
            "idle connection",
            String(
                format: "%.1f KiB each (budget 12)  of %d, server %.0f KiB before, login %.2f ms CPU each",
                (after - before) / Double(connections), connections, before, login / Double(connections) * 1000))
        for client in clients { client.close() }
    }
}
