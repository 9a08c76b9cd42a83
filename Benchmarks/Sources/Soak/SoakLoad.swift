import Foundation
import Synchronization

/// A mixed load at a constant rate: users with a phone that sends requests and a laptop that receives and reconnects.
///
/// Groups are emptied or deleted and created again, so that the amount of stored data stays about the same.
final class SoakLoad: Sendable {
    let server: URL
    let users: Int
    /// The number of requests per second of each user.
    let rate: Double
    let seed: UInt64
    /// The age at which a group is emptied or deleted, in seconds.
    let lifetime: Double
    let tokens: [String]
    let admin: String
    private let isStopped = Atomic<Bool>(false)
    private let state = Mutex(Counts())

    struct Counts: Sendable {
        var requests: [String: Int] = [:]
        var failures: [String: Int] = [:]
        var durations = Sample()
    }

    static let membersPerGroup = 5
    var groups: Int { (users + Self.membersPerGroup - 1) / Self.membersPerGroup }
    var isOver: Bool { isStopped.load(ordering: .relaxed) }

    init(
        _ server: URL, users: Int, rate: Double, seed: UInt64, lifetime: Double, tokens: [String], admin: String
    ) {
        self.server = server
        self.users = users
        self.rate = rate
        self.seed = seed
        self.lifetime = lifetime
        self.tokens = tokens
        self.admin = admin
    }

    func stop() { isStopped.store(true, ordering: .relaxed) }

    /// Returns the counts since the last call.
    func takeCounts() -> Counts {
        state.withLock { state in
            defer { state = Counts() }
            return state
        }
    }

    func run() async throws {
        for group in 0..<groups { try create(group, try PlainHTTP(server, timeout: 60)) }
        _ = try await onThreads(2 * users + 1) { number in
            switch number {
            case 0..<self.users: self.usePhone(of: number)
            case self.users..<2 * self.users: self.useLaptop(of: number - self.users)
            default: self.recycleGroups()
            }
        }
    }

    /// Measures a request.
    ///
    /// A refusal is counted by its reason.
    func measure(_ name: String, _ body: () throws -> Void) {
        let start = now()
        var failure: String?
        do {
            try body()
        } catch {
            failure = "\(name): \(error)"
        }
        let seconds = now() - start
        // Requests that the end of the soak interrupts don't count.
        guard !isOver || failure == nil else { return }
        state.withLock { state in
            state.requests[name, default: 0] += 1
            state.durations.add(seconds)
            if let failure { state.failures[failure, default: 0] += 1 }
        }
    }

    func path(_ group: Int) -> String { "/v1/conversations/group:soak\(group)" }

    func headers(_ token: String) -> [String] { ["Authorization: Bearer \(token)"] }

    /// Sends a request over HTTP.
    ///
    /// - Throws: An error with the status and the code if the response is not a success.
    func call(_ http: PlainHTTP, _ method: String, _ path: String, _ json: String?, as token: String) throws {
        let answer = try http.exchange(method, path, headers(token), json: json)
        guard answer.isSuccess else { throw BenchError(answer.reason) }
    }

    func sleep(until time: Double) {
        while !isOver, now() < time { usleep(UInt32(max(1, min(200, (time - now()) * 1000))) * 1000) }
    }

    // MARK: Groups

    func members(of group: Int) -> [Int] {
        (0..<Self.membersPerGroup).map { (group * Self.membersPerGroup + $0) % users }
    }

    private func create(_ group: Int, _ http: PlainHTTP) throws {
        let names = members(of: group).map { #""\#(user($0))""# }.joined(separator: ",")
        try call(http, "PUT", path(group), #"{"members":[\#(names)]}"#, as: admin)
    }

    /// Empties the groups with even numbers and deletes the others, one after another.
    private func recycleGroups() {
        var next = now()
        var group = 0
        while !isOver {
            next += lifetime / Double(groups)
            sleep(until: next)
            measure("recycle") {
                let http = try PlainHTTP(server, timeout: 60)
                if group.isMultiple(of: 2) {
                    try call(http, "DELETE", path(group) + "/messages?all=true", nil, as: admin)
                } else {
                    try call(http, "DELETE", path(group), nil, as: admin)
                    try create(group, http)
                }
            }
            group = (group + 1) % groups
        }
    }

    // MARK: Laptops

    /// Receives events, and reconnects after 5 to 15 seconds.
    private func useLaptop(of number: Int) {
        var random = SplitMix(seed: seed &+ UInt64(number) &+ 1_000_000)
        while !isOver {
            var connection: RawWebSocket?
            measure("connect") {
                var web = try RawWebSocket(server, timeout: 1)
                try web.signIn(token: tokens[number], device: "laptop")
                connection = web
            }
            guard var web = connection else {
                usleep(200_000)
                continue
            }
            let end = now() + Double.random(in: 5...15, using: &random)
            while !isOver, now() < end {
                // An error is a second without an event, or a connection that the next pass replaces.
                do { _ = try web.next() } catch RawSocket.Failure.timedOut { continue } catch { break }
            }
            web.close()
        }
    }
}

/// A generator of random numbers with a seed.
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
