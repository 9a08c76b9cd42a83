import ArgumentParser
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import ScrollbackModel
import ScrollbackWire
import Synchronization

/// A user with a number, for loads.
func user(_ number: Int) -> UserID { UserID(known: "user\(number)") }

/// Counts what arrived.
final class Deliveries: Sendable {
    private let value = Atomic<Int>(0)
    func add() { value.wrappingAdd(1, ordering: .relaxed) }
    var count: Int { value.load(ordering: .relaxed) }
}

/// The HTTP calls that prepare a load.
struct Preparation {
    private let address: String
    private let admin: String

    init(server: ServerProcess, admin: String) {
        address = server.address.absoluteString
        self.admin = admin
    }

    func call(_ method: String, _ path: String, _ body: String) async throws {
        _ = try await ask(method, path, body)
    }

    /// Many calls, some at a time, in no order.
    func calls(_ calls: [(method: String, path: String, body: String)]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            var rest = calls[...]
            func addNext() {
                guard let next = rest.popFirst() else { return }
                group.addTask { try await call(next.method, next.path, next.body) }
            }
            for _ in 0..<32 { addNext() }
            while try await group.next() != nil { addNext() }
        }
    }

    func get(_ path: String) async throws -> String { try await ask("GET", path, nil) }

    private func ask(_ method: String, _ path: String, _ body: String?) async throws -> String {
        var request = HTTPClientRequest(url: address + path)
        request.method = .RAW(value: method)
        request.headers.add(name: "Authorization", value: "Bearer \(admin)")
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
        abstract: "Durable send over WebSocket: senders with one message in flight each, to direct conversations.")

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

/// Senders with one message in flight each, to direct conversations.
struct SendLoad {
    let delivered = Deliveries()
    private var clients: [LoadClient] = []

    init(_ server: ServerProcess, senders: Int) async throws {
        let tokens = try await Tokens(server.directory)
        // As in the peers' run: pairs, where the other side listens.
        for number in 0..<senders {
            clients.append(
                try await LoadClient(server.address, token: tokens.token(user(number)), device: "sender"))
            _ = try await LoadClient(server.address, token: tokens.token(user(number + 1000)), device: "receiver") {
                [delivered] _ in
                delivered.add()
            }
        }
    }

    func run(_ duration: Double) async -> (sample: Sample, elapsed: Double) {
        let start = now()
        let end = start + duration
        let sample = await withTaskGroup(of: Sample.self) { group in
            for (number, client) in clients.enumerated() {
                group.addTask {
                    var sample = Sample()
                    var generator = SystemRandomNumberGenerator()
                    let content = MessageContent.text(String(repeating: "x", count: 289))
                    while now() < end {
                        let sent = now()
                        let submission = Submission(
                            id: MessageID(at: Date(), using: &generator), content: content)
                        _ = await client.request(.send(.direct(user(number + 1000)), submission))
                        sample.add(now() - sent)
                    }
                    return sample
                }
            }
            var all = Sample()
            for await sample in group { all.add(sample) }
            return all
        }
        return (sample, now() - start)
    }
}

struct FanOut: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "One group, many sockets: deliveries a second of the server's CPU.")

    @Option var sockets = 500
    @Option var duration = 8.0
    @Option(help: "Messages in flight.") var inFlight = 4

    func run() async throws {
        let server = try ServerProcess()
        defer { server.stop() }
        let tokens = try await Tokens(server.directory)
        let members = (0..<sockets).map { "\"\(user($0))\"" }.joined(separator: ",")
        try await Preparation(server: server, admin: tokens.admin())
            .call("PUT", "/v1/conversations/group:fan", "{\"members\":[\(members)]}")
        let delivered = Deliveries()
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
        let sample = await withTaskGroup(of: Sample.self) { group in
            for _ in 0..<inFlight {
                group.addTask { [delivered, sockets] in
                    var sample = Sample()
                    var generator = SystemRandomNumberGenerator()
                    let content = MessageContent.text(String(repeating: "x", count: 289))
                    while now() < end {
                        let sent = now()
                        let before = delivered.count
                        let submission = Submission(id: MessageID(at: Date(), using: &generator), content: content)
                        _ = await sender.request(.send(.group("fan"), submission))
                        sample.add(now() - sent)
                        // The next one goes when the sockets have had this one: a flood would only measure queues.
                        while delivered.count < before + sockets / 2, now() < end {
                            try? await Task.sleep(for: .microseconds(200))
                        }
                    }
                    return sample
                }
            }
            var all = Sample()
            for await sample in group { all.add(sample) }
            return all
        }
        try await Task.sleep(for: .seconds(1))
        let used = server.cpuSeconds - cpu
        let count = delivered.count
        report(
            "fan-out to \(sockets) sockets",
            String(
                format: "%.0f deliveries a CPU second (budget 90,000)  %.0f/s  acknowledged %@  lost %d",
                Double(count) / used, Double(count) / duration, sample.summary, sample.count * (sockets - 1) - count))
        for client in clients { client.close() }
    }
}

struct Idle: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Resident memory of an idle connection, signed in.")

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
