import Foundation
import ScrollbackModel
import ScrollbackWire
import Synchronization

/// The conversations to which a number of senders send.
struct SendTargets {
    let senders: Int
    /// The number of direct conversations; `nil` if all senders are in one group.
    let direct: Int?

    /// Returns a direct conversation by its number, for its sender, or the group.
    ///
    /// The conversation has the sender `number % senders`.
    func conversation(_ number: Int) -> ConversationID {
        guard direct != nil else { return .group("all") }
        return .direct(Self.receiver((number % senders + number / senders) % senders))
    }

    /// Returns the numbers of the conversations to which a sender sends in turn.
    func conversations(of sender: Int) -> [Int] {
        direct.map { Array(stride(from: sender, to: $0, by: senders)) } ?? [0]
    }

    /// A receiver of direct messages, whose name sorts before those of the senders.
    static func receiver(_ number: Int) -> UserID { UserID(known: "reader\(number)") }
}

/// The results of a load.
struct NodeFigures {
    /// The time from a send until its acknowledgement.
    var sends = Sample()
    var seconds = 0.0
    var delivered = 0
    var expected = 0
    /// The time from a send until its delivery.
    var deliveries = Sample()
    var serverSeconds = 0.0
    var databaseSeconds = 0.0
    var commits = 0
    /// The number of sends in the commits.
    var writes = 0

    var rate: Double { Double(sends.count) / max(seconds, .leastNonzeroMagnitude) }
    var sendsPerCommit: Double { Double(writes) / Double(max(1, commits)) }

    /// - Parameter roundTrips: The number of round trips to PostgreSQL of each commit; 0 without PostgreSQL.
    func printReport(_ name: String, roundTrips: Int) {
        func perSend(_ value: Double) -> Double { value / Double(max(1, sends.count)) }
        report(name, String(format: "%.0f/s  %@", rate, sends.summary))
        var costs = String(format: "CPU per send: servers %.3f ms", perSend(serverSeconds) * 1000)
        if roundTrips > 0 {
            costs += String(
                format: ", PostgreSQL %.3f ms  round trips per send %.2f", perSend(databaseSeconds) * 1000,
                Double(roundTrips) / max(1, sendsPerCommit))
        }
        report("", costs + String(format: "  sends per commit %.1f", sendsPerCommit))
        report(
            "",
            String(
                format: "delivered %d of %d, %.0f/s  sent to delivered %@", delivered, expected,
                Double(delivered) / max(seconds, .leastNonzeroMagnitude), deliveries.summary))
    }
}

/// Senders and receivers that are connected to the nodes in turn, with one message in flight for each sender.
struct NodeLoad {
    private let servers: [ServerProcess]
    private let targets: SendTargets
    private let tokens: Tokens
    private let admin: String
    private let deliveries: Deliveries
    private var senders: [Sender] = []
    private var receivers: [LoadClient] = []

    /// Connects the clients and creates the conversations in the order of their numbers.
    init(_ servers: [ServerProcess], _ targets: SendTargets, _ tokens: Tokens) async throws {
        self.servers = servers
        self.targets = targets
        self.tokens = tokens
        admin = try await tokens.admin()
        deliveries = Deliveries(nodes: servers.count)
        if targets.direct == nil {
            try await Preparation(server: servers[0], admin: admin).make(.group("all"), members: targets.senders)
        }
        for number in 0..<targets.senders {
            let client = try await connect(user(number), "sender", to: number, receives: targets.direct == nil)
            senders.append(
                Sender(
                    client: client, number: number, node: number % servers.count,
                    conversations: targets.conversations(of: number).map(targets.conversation)))
            guard targets.direct != nil else { continue }
            receivers.append(try await connect(SendTargets.receiver(number), "receiver", to: number + 1))
        }
        for number in 0..<(targets.direct ?? 0) {
            let sender = senders[number % targets.senders].client
            _ = await sender.sendTexts(to: targets.conversation(number)) { $0 == 0 }
        }
    }

    func close() { for client in senders.map(\.client) + receivers { client.close() } }

    private func connect(
        _ user: UserID, _ device: String, to number: Int, receives: Bool = true
    ) async throws -> LoadClient {
        let node = number % servers.count
        // In the group, one client of each node measures, so that the load generator has less to do.
        let measures = targets.direct != nil || number < servers.count
        let token = try await tokens.token(user)
        return try await LoadClient(servers[node].address, token: token, device: device) { [deliveries] frame in
            guard receives else { return }
            if measures { deliveries.measure(frame, at: node) } else { deliveries.count() }
        }
    }

    /// Sends for a number of seconds, and waits for the deliveries.
    ///
    /// - Parameter rate: The number of sends a second; `nil` for as many as possible.
    func run(_ duration: Double, rate: Double? = nil) async throws -> NodeFigures {
        let before = try await counts()
        deliveries.reset()
        let start = now()
        let schedule = Schedule(
            start: start, end: start + duration, interval: rate.map { Double(targets.senders) / $0 },
            senders: targets.senders)
        var figures = NodeFigures()
        figures.sends = await runConcurrently(senders.count) { [senders] in await senders[$0].send(schedule) }
        figures.seconds = now() - start
        figures.expected = figures.sends.count * (targets.direct == nil ? targets.senders - 1 : 1)
        let deadline = now() + 30
        while deliveries.total < figures.expected, now() < deadline { try await Task.sleep(for: .milliseconds(10)) }
        (figures.delivered, figures.deliveries) = (deliveries.total, deliveries.times)
        let after = try await counts()
        figures.serverSeconds = after.servers - before.servers
        figures.databaseSeconds = after.database - before.database
        figures.commits = after.commits - before.commits
        figures.writes = after.writes - before.writes
        return figures
    }

    private func counts() async throws -> (servers: Double, database: Double, commits: Int, writes: Int) {
        var (commits, writes) = (0, 0)
        for server in servers {
            let meter = Meter(server, admin: admin)
            commits += try await meter.value("scrollback_commit_writes_count")
            writes += try await meter.value("scrollback_commit_writes_sum")
        }
        return (servers.map(\.cpuSeconds).reduce(0, +), PostgresSchema.cpuSeconds, commits, writes)
    }
}

/// A user who sends to conversations in turn.
private struct Sender {
    let client: LoadClient
    let number: Int
    /// The node to which the client is connected.
    let node: Int
    let conversations: [ConversationID]

    func send(_ schedule: Schedule) async -> Sample {
        var sample = Sample()
        var generator = SystemRandomNumberGenerator()
        while let begin = await schedule.next(sample.count, of: number) {
            let submission = Submission(
                id: MessageID(at: Date(), using: &generator), content: .text(Deliveries.text(from: node)))
            let conversation = conversations[sample.count % conversations.count]
            _ = await client.request(SendMessage(conversation: conversation, submission: submission))
            sample.add(now() - begin)
        }
        return sample
    }
}

/// When senders send.
private struct Schedule {
    let start: Double
    let end: Double
    /// The time between two sends of a sender; `nil` to send as soon as the last send is acknowledged.
    let interval: Double?
    let senders: Int

    /// Waits until a send is due.
    ///
    /// - Returns: The time from which the send is measured, or `nil` after the end. A send that begins late, because an
    ///   earlier one took long, is measured from the time at which it was due.
    func next(_ index: Int, of sender: Int) async -> Double? {
        guard let interval else { return now() < end ? now() : nil }
        let due = start + (Double(index) + Double(sender) / Double(senders)) * interval
        guard due < end else { return nil }
        guard due > now() else { return due }
        try? await Task.sleep(for: .seconds(due - now()))
        return now()
    }
}

/// The messages that clients receive.
private final class Deliveries: Sendable {
    private let nodes: Int
    private let state = Mutex(State())

    private struct State {
        var count = 0
        var times = Sample()
    }

    init(nodes: Int) { self.nodes = nodes }

    var total: Int { state.withLock { $0.count } }
    var times: Sample { state.withLock { $0.times } }

    func reset() { state.withLock { $0 = State() } }

    /// Counts a message without measuring it.
    func count() { state.withLock { $0.count += 1 } }

    /// Counts a message of ``text(from:)``, and measures it if it was sent to another node or there is only one.
    ///
    /// - Parameter node: The node that delivered the message.
    func measure(_ frame: [UInt8], at node: Int) {
        let time = now()
        guard let origin = Self.origin(of: frame) else { return }
        state.withLock { state in
            state.count += 1
            if origin.node != node || nodes == 1 { state.times.add(time - origin.time) }
        }
    }

    /// Returns a text of 289 bytes that contains the node to which it is sent, and the time.
    static func text(from node: Int) -> String {
        let head = "~\(node)~\(DispatchTime.now().uptimeNanoseconds)~"
        return head + String(repeating: "x", count: 289 - head.utf8.count)
    }

    private static func origin(of frame: [UInt8]) -> (node: Int, time: Double)? {
        let parts = frame.split(separator: UInt8(ascii: "~"), maxSplits: 3)
        guard parts.count == 4, let node = Int(String(decoding: parts[1], as: UTF8.self)),
            let time = Double(String(decoding: parts[2], as: UTF8.self))
        else { return nil }
        return (node, time / 1e9)
    }
}
