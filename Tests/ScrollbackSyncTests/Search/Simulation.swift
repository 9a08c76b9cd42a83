import Foundation
import ScrollbackModel
import ScrollbackSync

/// Two users with two devices each, a server, and a network that loses, duplicates, reorders and delays packets.
///
/// One seed determines everything.
struct Simulation {
    static let alice: UserID = "alice"
    static let bob: UserID = "bob"
    static let conversations: [ConversationID] = [.group("garden"), .group("kitchen")]

    var generator: SplitMix64
    var server = ModelServer(Simulation.conversations)
    var devices: [ModelDevice] = []
    var wire: [Packet] = []
    var now = Date(timeIntervalSince1970: 1_800_000_000)
    /// Whether faults happen.
    var injectsFaults = true
    /// The device of each message, and its position in the order of queueing.
    var sent: [MessageID: (device: Int, turn: Int)] = [:]
    var cancelled: Set<MessageID> = []
    var trace: Trace?
    private var connections = 0

    /// The latest steps, recorded only when a seed is replayed.
    struct Trace {
        private(set) var steps: [String] = []

        mutating func note(_ step: String) {
            steps.append(step)
            if steps.count > 200 { steps.removeFirst(steps.count - 100) }
        }
    }

    /// A broken invariant.
    struct Violation: Error, CustomStringConvertible {
        var description: String
    }

    init(seed: UInt64, isTraced: Bool = false) {
        generator = SplitMix64(seed: seed)
        if isTraced { trace = Trace() }
        for user in [Self.alice, Self.alice, Self.bob, Self.bob] {
            let own = RecordedFractions(seed: generator.next())
            devices.append(ModelDevice(user: user, conversations: Self.conversations, generator: own))
        }
        server.logs[0].join(Self.alice)
        server.logs[0].join(Self.bob)
        server.logs[1].join(Self.alice)
    }
}

// MARK: The network

extension Simulation {
    /// Runs an event on a device and transmits its requests, unless the device crashes first.
    mutating func run(_ device: Int, _ event: (inout ModelDevice) -> Void) throws(Violation) {
        let requests = devices[device].run(event)
        try check(device)
        if injectsFaults, generator.below(200) == 0 {
            trace?.note("device \(device) crashes before it transmits")
            crash(device)
            return
        }
        guard let connection = devices[device].connection else { return }
        for request in requests {
            wire.append(
                Packet(
                    device: device, connection: connection, process: devices[device].process, body: .request(request)))
        }
    }

    mutating func connect(_ device: Int) throws(Violation) {
        guard devices[device].connection == nil else { return }
        connections += 1
        trace?.note("device \(device) connects as \(connections)")
        let (number, now) = (connections, now)
        try run(device) { $0.connect(number, now: now) }
    }

    /// Ends a connection. Its packets are lost or arrive late.
    mutating func disconnect(_ device: Int) throws(Violation) {
        guard let connection = devices[device].connection else { return }
        trace?.note("device \(device) loses connection \(connection)")
        dropPackets { $0.connection == connection && $0.body.isEvent }
        dropPackets(chance: 50) { $0.connection == connection }
        let now = now
        try run(device) { $0.disconnect(now: now) }
    }

    mutating func crash(_ device: Int) {
        let process = devices[device].process
        dropPackets { $0.device == device && $0.process == process && !$0.body.isRequest }
        dropPackets(chance: 50) { $0.device == device && $0.process == process }
        devices[device].crash()
    }

    private mutating func dropPackets(chance: Int = 100, _ matches: (Packet) -> Bool) {
        var kept: [Packet] = []
        for packet in wire where !matches(packet) || !generator.chance(chance) { kept.append(packet) }
        wire = kept
    }

    mutating func deliver() throws(Violation) {
        guard !wire.isEmpty else { return }
        let index = generator.below(wire.count)
        if injectsFaults, wire[index].deliveryDelay > 0 {
            wire[index].deliveryDelay -= 1
            return
        }
        let packet = wire[index]
        if injectsFaults, !packet.body.isRequest, generator.chance(4) {
            trace?.note("the next packet is duplicated")
        } else {
            wire.swapAt(index, wire.count - 1)
            wire.removeLast()
        }
        switch packet.body {
        case .request(let request):
            trace?.note("server ← device \(packet.device): \(request)")
            var answer = packet
            answer.body = .answer(self.answer(request, for: packet))
            if injectsFaults, generator.chance(15) { answer.deliveryDelay = 3 + generator.below(10) }
            if devices[packet.device].process == packet.process { wire.append(answer) }
        case .answer(let answer):
            guard devices[packet.device].process == packet.process else { return }
            let isLate = devices[packet.device].connection != packet.connection
            trace?.note("device \(packet.device) ← \(isLate ? "late " : "")\(answer)")
            let now = now
            try run(packet.device) { $0.receive(answer, now: now) }
        case .event(let event):
            guard devices[packet.device].connection == packet.connection else { return }
            trace?.note("device \(packet.device) ← \(brief(event))")
            let now = now
            try run(packet.device) { $0.receive(event, now: now) }
        }
    }

    mutating func tick() throws(Violation) {
        for device in devices.indices {
            let now = now
            try run(device) { $0.tick(now: now) }
        }
    }
}

extension Packet.Body {
    var isRequest: Bool { if case .request = self { true } else { false } }
    var isSend: Bool {
        switch self {
        case .request(.send), .answer(.sent): true
        default: false
        }
    }
    var isEvent: Bool { if case .event = self { true } else { false } }
}

// MARK: The server

extension Simulation {
    private mutating func answer(_ request: Request, for packet: Packet) -> Answer {
        let user = devices[packet.device].user
        let isBusy = injectsFaults && generator.chance(5)
        switch request {
        case .window(let number, let cursor):
            if isBusy { return .windowRefused(number) }
            let window = server.window(after: cursor, for: user)
            return .window(number, heads: window.heads, cursor: window.cursor, isDone: window.isDone)
        case .sync(let batch, let positions):
            if isBusy { return .syncRefused(batch: batch) }
            let answers = positions.map { asked in
                (asked, server.logs[server.index(of: asked.conversation)].sync(asked, reader: user))
            }
            return .sync(batch: batch, answers)
        case .send(let conversation, let submission):
            if isBusy { return .sent(conversation, submission, from: user, .failure(.busy)) }
            return .sent(conversation, submission, from: user, append(submission, to: conversation, packet, user))
        case .page(let conversation, let request, let sender, let isFill):
            if isBusy, isFill { return .pageRefused(conversation, request) }
            let log = server.logs[server.index(of: conversation)]
            let budget = generator.chance(30) ? 1 + generator.below(4) : 100
            let page = log.page(
                request.direction, of: request.anchor, limit: request.limit, from: sender, budget: budget,
                reader: user)
            return .page(conversation, request, page, isFill: isFill)
        }
    }

    private mutating func append(
        _ submission: Submission, to conversation: ConversationID, _ packet: Packet, _ user: UserID
    ) -> Result<SendResult, ChatError> {
        let index = server.index(of: conversation)
        let result = server.logs[index].append(submission, from: user)
        if case .success(let answer) = result, answer.outcome == .committed {
            server.recordCommit(index)
            let row = server.logs[index].rows.last!
            broadcast(index, except: packet.connection) { _, _ in .message(row) }
        }
        return result
    }

    /// Sends an event to every connected device of every member.
    mutating func broadcast(_ index: Int, except connection: Int? = nil, _ event: (ModelLog, UserID) -> LiveEvent) {
        for device in devices.indices where server.logs[index].isMember(devices[device].user) {
            guard let own = devices[device].connection, own != connection else { continue }
            if injectsFaults, generator.chance(5) { continue }
            wire.append(
                Packet(
                    device: device, connection: own, process: devices[device].process,
                    body: .event(event(server.logs[index], devices[device].user))))
        }
    }

    mutating func sendHeads(_ index: Int) {
        broadcast(index) { log, user in .head(log.conversation, log.state(for: user)) }
    }
}
