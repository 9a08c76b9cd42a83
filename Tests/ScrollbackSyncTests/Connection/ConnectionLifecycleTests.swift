import Foundation
import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("Life cycle of a connection")
struct ConnectionLifecycleTests {
    private var random = SplitMix64(seed: 1)
    private let unreachable = ChatError(.unreachable, "The server can't be reached.")

    private func connecting() -> ConnectionLifecycle {
        var lifecycle = ConnectionLifecycle(user: me)
        _ = lifecycle.connect()
        return lifecycle
    }

    private mutating func online() -> ConnectionLifecycle {
        var lifecycle = connecting()
        reachOnline(&lifecycle)
        return lifecycle
    }

    private mutating func reachOnline(_ lifecycle: inout ConnectionLifecycle) {
        let generation = lifecycle.generation
        _ = lifecycle.tokenReceived(generation, .success("t"), now: noon, using: &random)
        _ = lifecycle.opened(generation, now: noon)
        _ = lifecycle.welcomed(as: me, heartbeat: 20)
    }

    /// Returns the time at which a waiting client reconnects.
    private func until(_ lifecycle: ConnectionLifecycle) -> Date? {
        if case .waiting(let until) = lifecycle.phase { until } else { nil }
    }

    @Test("A client requests a token, opens a connection, authenticates and resumes its session")
    mutating func connects() {
        var lifecycle = ConnectionLifecycle(user: me)
        #expect(lifecycle.connect() == [.publishPhase, .requestToken(generation: 1)])
        #expect(lifecycle.connect() == [])
        #expect(
            lifecycle.tokenReceived(1, .success("t"), now: noon, using: &random) == [.open(generation: 1, token: "t")])
        #expect(
            lifecycle.opened(1, now: noon) == [
                .sendHello(token: "t", isActive: true), .scheduleHeartbeat(generation: 1, after: 30),
            ])
        #expect(lifecycle.welcomed(as: me, heartbeat: 20) == [.publishPhase, .resume])
        #expect(lifecycle.isOnline)
    }

    @Test("A token of another user is rejected")
    mutating func tokenOfAnotherUser() {
        var lifecycle = connecting()
        _ = lifecycle.tokenReceived(1, .success("t"), now: noon, using: &random)
        _ = lifecycle.opened(1, now: noon)
        #expect(lifecycle.welcomed(as: "bob", heartbeat: 20) == [.disconnect, .publishPhase])
        guard case .rejected(let error) = lifecycle.phase else {
            Issue.record("The token was accepted.")
            return
        }
        #expect(error.code == .invalidToken)
        #expect(lifecycle.connect() == [.publishPhase, .requestToken(generation: 3)])
    }

    @Test("Results of an earlier attempt have no effect, and its connection is closed")
    mutating func earlierGenerations() {
        var lifecycle = connecting()
        _ = lifecycle.openFailed(1, unreachable, now: noon, using: &random)
        _ = lifecycle.connect()
        let generation = lifecycle.generation
        #expect(lifecycle.tokenReceived(1, .success("t"), now: noon, using: &random) == [])
        #expect(lifecycle.opened(1, now: noon) == [])
        #expect(lifecycle.openFailed(1, unreachable, now: noon, using: &random) == [])
        #expect(lifecycle.closed(1, code: 4009, reason: "", now: noon, using: &random) == [])
        #expect(lifecycle.heartbeat(1, now: noon, using: &random) == [])
        #expect(lifecycle.generation == generation && lifecycle.phase == .opening)
    }

    @Test("A rejected token is replaced once, and again after the next successful connection")
    mutating func tokenIsRefreshedOnce() {
        var lifecycle = online()
        for _ in 1...2 {
            let actions = lifecycle.closed(
                lifecycle.generation, code: 4001, reason: "expired", now: noon, using: &random)
            #expect(actions == [.disconnect, .publishPhase, .requestToken(generation: lifecycle.generation)])
            reachOnline(&lifecycle)
        }
        _ = lifecycle.closed(lifecycle.generation, code: 4001, reason: "expired", now: noon, using: &random)
        let actions = lifecycle.closed(lifecycle.generation, code: 4001, reason: "expired", now: noon, using: &random)
        #expect(actions == [.disconnect, .publishPhase])
        #expect(lifecycle.phase == .rejected(ChatError(.invalidToken, "expired")))
    }

    @Test("An expired token is replaced at once, and while the provider returns expired ones, after growing delays")
    mutating func expiredToken() {
        var lifecycle = online()
        let atOnce = lifecycle.closed(lifecycle.generation, code: 4003, reason: "", now: noon, using: &random)
        #expect(atOnce == [.disconnect, .publishPhase, .requestToken(generation: lifecycle.generation)])
        // Once more, because the provider may have returned a token from its cache.
        _ = lifecycle.closed(lifecycle.generation, code: 4003, reason: "", now: noon, using: &random)
        #expect(lifecycle.phase == .opening)
        var delays: [TimeInterval] = []
        for _ in 1...6 {
            _ = lifecycle.closed(lifecycle.generation, code: 4003, reason: "", now: noon, using: &random)
            guard let until = until(lifecycle) else { return #expect(Bool(false), "The client does not wait.") }
            delays.append(until.timeIntervalSince(noon))
            _ = lifecycle.tick(now: until)
        }
        #expect(delays[5] > 4 && delays[0] < 1)
        reachOnline(&lifecycle)
        _ = lifecycle.closed(lifecycle.generation, code: 4003, reason: "", now: noon, using: &random)
        #expect(lifecycle.phase == .opening)
    }

    @Test(
        "The server's close code decides whether a client reconnects",
        arguments: [
            (4009, "", ChatError.Code.closed), (4010, "", .tokenRevoked), (4010, "banned: Spam.", .banned),
            (4010, "user-deactivated: Left.", .userDeactivated),
        ])
    mutating func rejectingCloseCodes(code: Int, reason: String, expected: ChatError.Code) {
        var lifecycle = online()
        _ = lifecycle.closed(lifecycle.generation, code: code, reason: reason, now: noon, using: &random)
        guard case .rejected(let error) = lifecycle.phase else {
            Issue.record("The client reconnects after \(code).")
            return
        }
        #expect(error.code == expected)
        #expect(lifecycle.tick(now: .distantFuture) == [] && lifecycle.reconnectNow(now: noon) == [])
    }

    @Test("A restarting server spreads reconnects over five seconds")
    mutating func restartingServer() throws {
        for _ in 1...50 {
            var lifecycle = online()
            _ = lifecycle.closed(lifecycle.generation, code: 1012, reason: "", now: noon, using: &random)
            #expect((0...5).contains(try #require(until(lifecycle)).timeIntervalSince(noon)))
        }
    }

    @Test("A client moves to another server at a random moment of the requested time, and counts as online")
    mutating func moves() throws {
        var moments: Set<Date> = []
        for _ in 1...50 {
            var lifecycle = online()
            let actions = lifecycle.moving(within: 5, now: noon, using: &random)
            guard case .wake(let at) = actions.first else {
                Issue.record("\(actions)")
                return
            }
            #expect(actions == [.wake(at: at), .wake(at: noon + 5)])
            #expect((0...5).contains(at.timeIntervalSince(noon)))
            moments.insert(at)
            #expect(lifecycle.moveIfDue(now: at - 0.01, awaitsAnswers: false) == [])
            #expect(
                lifecycle.moveIfDue(now: at, awaitsAnswers: false) == [
                    .disconnect, .requestToken(generation: 3), .wake(at: at + 1),
                ])
            #expect(lifecycle.isMoving && !lifecycle.isOnline)
            _ = lifecycle.tokenReceived(3, .success("t"), now: at, using: &random)
            _ = lifecycle.opened(3, now: at)
            #expect(lifecycle.welcomed(as: me, heartbeat: 20) == [.resume])
            #expect(lifecycle.tick(now: at + 1) == [] && !lifecycle.isMoving)
            #expect(lifecycle.moveIfDue(now: at + 9, awaitsAnswers: false) == [])
        }
        #expect(moments.count > 40)
    }

    @Test("A client waits for answers before it moves, but not longer than requested")
    mutating func movesAfterAnswers() {
        var lifecycle = online()
        _ = lifecycle.moving(within: 5, now: noon, using: &random)
        #expect(lifecycle.moveIfDue(now: noon + 4.9, awaitsAnswers: true) == [])
        #expect(lifecycle.moveIfDue(now: noon + 5, awaitsAnswers: true).first == .disconnect)
    }

    @Test("A move that takes over a second is published, and the failed attempts have the usual delays")
    mutating func slowMove() throws {
        var lifecycle = online()
        _ = lifecycle.moving(within: 0, now: noon, using: &random)
        _ = lifecycle.moveIfDue(now: noon, awaitsAnswers: false)
        let failed = lifecycle.openFailed(3, unreachable, now: noon, using: &random)
        let retry = try #require(until(lifecycle))
        #expect(failed == [.disconnect, .wake(at: retry)])
        #expect((0.25...0.5).contains(retry.timeIntervalSince(noon)))
        #expect(lifecycle.tick(now: retry) == [.requestToken(generation: 5)])
        #expect(lifecycle.tick(now: noon + 1) == [.publishPhase])
        #expect(!lifecycle.isMoving)
    }

    @Test("A client that was asked to move opens the next connection at once if the server closes this one")
    mutating func closedWhileMoving() {
        var lifecycle = online()
        _ = lifecycle.moving(within: 5, now: noon, using: &random)
        let actions = lifecycle.closed(1, code: 1012, reason: "", now: noon, using: &random)
        #expect(actions == [.disconnect, .requestToken(generation: 3), .wake(at: noon + 1)])
        // The next server restarts, too, without a request to move.
        _ = lifecycle.closed(3, code: 1012, reason: "", now: noon, using: &random)
        #expect(until(lifecycle) != nil)
    }

    @Test("A client that is not online ignores the request to move, and a second request")
    mutating func ignoredMoves() {
        var lifecycle = connecting()
        #expect(lifecycle.moving(within: 5, now: noon, using: &random) == [])
        reachOnline(&lifecycle)
        #expect(lifecycle.moving(within: 5, now: noon, using: &random).count == 2)
        #expect(lifecycle.moving(within: 5, now: noon, using: &random) == [])
        _ = lifecycle.drop(now: noon, using: &random)
        _ = lifecycle.tick(now: noon + 60)
        reachOnline(&lifecycle)
        #expect(lifecycle.moveIfDue(now: noon + 60, awaitsAnswers: false) == [])
    }

    @Test("A client whose next server asks it to move, too, moves at most once a second")
    mutating func repeatedMoves() {
        var lifecycle = online()
        _ = lifecycle.moving(within: 0, now: noon, using: &random)
        _ = lifecycle.moveIfDue(now: noon, awaitsAnswers: false)
        reachOnline(&lifecycle)
        #expect(
            lifecycle.moving(within: 0, now: noon + 0.25, using: &random) == [.wake(at: noon + 1), .wake(at: noon + 1)])
        #expect(lifecycle.moveIfDue(now: noon + 0.75, awaitsAnswers: false) == [])
        #expect(lifecycle.moveIfDue(now: noon + 1, awaitsAnswers: true).first == .disconnect)
        reachOnline(&lifecycle)
        // The clock was set back.
        #expect(lifecycle.moving(within: 0, now: noon, using: &random) == [.wake(at: noon), .wake(at: noon)])
    }

    @Test("A slow client reconnects at once if it was online, and with a delay otherwise")
    mutating func slowClient() {
        var lifecycle = online()
        _ = lifecycle.closed(lifecycle.generation, code: 4008, reason: "", now: noon, using: &random)
        #expect(lifecycle.phase == .opening)
        _ = lifecycle.closed(lifecycle.generation, code: 4008, reason: "", now: noon, using: &random)
        #expect(until(lifecycle) != nil)
    }

    @Test("The server's delay takes precedence over the backoff")
    mutating func retryAfter() {
        var lifecycle = connecting()
        let error = ChatError(.overloaded, "The server is busy.", retryAfter: 90)
        _ = lifecycle.openFailed(1, error, now: noon, using: &random)
        #expect(lifecycle.phase == .waiting(until: noon + 90))
        #expect(lifecycle.tick(now: noon + 89) == [])
        #expect(lifecycle.tick(now: noon + 90) == [.publishPhase, .requestToken(generation: 3)])
    }

    @Test("An immediate reconnect happens at most once a second")
    mutating func immediateReconnects() {
        var lifecycle = connecting()
        _ = lifecycle.openFailed(1, unreachable, now: noon, using: &random)
        #expect(!lifecycle.reconnectNow(now: noon).isEmpty)
        _ = lifecycle.drop(now: noon, using: &random)
        #expect(lifecycle.reconnectNow(now: noon + 0.9).isEmpty)
        #expect(!lifecycle.setActive(true, now: noon + 1).isEmpty)
    }

    @Test("Activity that changes while authenticating is sent after the welcome")
    mutating func activity() {
        var lifecycle = connecting()
        _ = lifecycle.tokenReceived(1, .success("t"), now: noon, using: &random)
        _ = lifecycle.opened(1, now: noon)
        #expect(lifecycle.setActive(false, now: noon) == [])
        #expect(lifecycle.welcomed(as: me, heartbeat: 20) == [.publishPhase, .sendActivity(false), .resume])
        #expect(lifecycle.setActive(true, now: noon) == [.sendActivity(true)])
    }

    @Test("A connection on which nothing arrives for two heartbeats is dropped")
    mutating func heartbeats() {
        var lifecycle = online()
        let next = ConnectionAction.scheduleHeartbeat(generation: 1, after: 20)
        #expect(lifecycle.heartbeat(1, now: noon + 39, using: &random) == [.sendPing, next])
        lifecycle.received(now: noon + 39)
        #expect(lifecycle.heartbeat(1, now: noon + 78, using: &random) == [.sendPing, next])
        #expect(lifecycle.heartbeat(1, now: noon + 79, using: &random).first == .disconnect)
        #expect(until(lifecycle) != nil)
    }

    @Test("Failed requests are retried once on a connection that stays open, after the longest delay of the server")
    mutating func requestRetries() throws {
        var lifecycle = online()
        let date = try #require(lifecycle.retryRequests(after: 10, now: noon, using: &random))
        #expect((10...15).contains(date.timeIntervalSince(noon)))
        #expect(lifecycle.retryRequests(after: 1, now: noon, using: &random) == nil)
        let later = try #require(lifecycle.retryRequests(after: 30, now: noon, using: &random))
        #expect((30...45).contains(later.timeIntervalSince(noon)))
        #expect(lifecycle.tick(now: date) == [])
        #expect(lifecycle.tick(now: later) == [.retryRequests])
        _ = lifecycle.retryRequests(after: 10, now: noon, using: &random)
        _ = lifecycle.drop(now: noon, using: &random)
        #expect(lifecycle.retryRequests(after: 10, now: noon, using: &random) == nil)
    }

    @Test("After random failures, a client has one connection and is online again", arguments: 1...500)
    func randomFailures(seed: UInt64) throws {
        var run = RandomConnection(seed: seed)
        for _ in 0..<200 { try run.step() }
        for _ in 0..<20 where !run.lifecycle.isOnline { try run.recover() }
        #expect(run.lifecycle.isOnline && run.connection == run.lifecycle.generation)
    }
}

/// A random history of one connection, with the rules that each step must keep.
private struct RandomConnection {
    var lifecycle = ConnectionLifecycle(user: me)
    /// The generation of the connection that is open.
    var connection: Int?
    private var random: SplitMix64
    private var now = noon
    private var tokenRequests: [Int] = []
    private var opening: [Int] = []
    private var heartbeats: [Int] = []
    /// The number of delays since the last success that the backoff determined.
    private var failures = 0

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
    }

    mutating func step() throws {
        now += Double.random(in: 0...20, using: &random)
        let generation = Int.random(in: 0..<3, using: &random) == 0 ? lifecycle.generation - 1 : lifecycle.generation
        let isCurrent = generation == lifecycle.generation
        switch Int.random(in: 0..<14, using: &random) {
        case 0: try perform(lifecycle.connect())
        case 1: try perform(lifecycle.reconnectNow(now: now))
        case 2, 3: try answerTokenRequest(succeeds: random.chance(80))
        case 4, 5: try finishOpening(succeeds: random.chance(80))
        case 6: try welcome()
        case 7:
            let code = random.pick([nil, 1012, 4001, 4003, 4008, 4009, 4010])
            let actions = lifecycle.closed(generation, code: code, reason: "", now: now, using: &random)
            if !isCurrent { try #require(actions.isEmpty, "The end of an earlier connection has an effect.") }
            try perform(actions, isSpread: code == 1012)
        case 8: try perform(lifecycle.drop(now: now, using: &random))
        case 9:
            guard let generation = heartbeats.popLast() else { break }
            try perform(lifecycle.heartbeat(generation, now: now, using: &random))
        case 10: lifecycle.received(now: now)
        case 11: try perform(lifecycle.moving(within: 10, now: now, using: &random))
        case 12: try perform(lifecycle.moveIfDue(now: now, awaitsAnswers: random.chance(50)))
        default: try perform(lifecycle.tick(now: now))
        }
    }

    /// Takes one step towards a connection, without failures.
    mutating func recover() throws {
        switch lifecycle.phase {
        case .idle, .waiting, .rejected: try perform(lifecycle.connect())
        case .opening where tokenRequests.contains(lifecycle.generation):
            while !tokenRequests.isEmpty { try answerTokenRequest(succeeds: true) }
        case .opening: while !opening.isEmpty { try finishOpening(succeeds: true) }
        case .authenticating, .online: try welcome()
        }
    }

    private mutating func answerTokenRequest(succeeds: Bool) throws {
        guard let generation = tokenRequests.popLast() else { return }
        let result: Result<String, ChatError> =
            succeeds ? .success("t") : .failure(ChatError(.unreachable, "The token provider failed."))
        let actions = lifecycle.tokenReceived(generation, result, now: now, using: &random)
        if generation != lifecycle.generation { try #require(actions.isEmpty) }
        try perform(actions)
    }

    private mutating func finishOpening(succeeds: Bool) throws {
        guard let generation = opening.popLast() else { return }
        let isCurrent = generation == lifecycle.generation
        let actions =
            succeeds
            ? lifecycle.opened(generation, now: now)
            : lifecycle.openFailed(
                generation, ChatError(.unreachable, "The server can't be reached."), now: now, using: &random)
        if !isCurrent { try #require(actions.isEmpty, "An earlier attempt has an effect.") }
        if succeeds, !actions.isEmpty {
            try #require(connection == nil, "The client opened two connections.")
            connection = generation
        }
        try perform(actions)
    }

    private mutating func welcome() throws {
        let actions = lifecycle.welcomed(as: me, heartbeat: 20)
        if !actions.isEmpty { failures = 0 }
        try perform(actions)
    }

    private mutating func perform(_ actions: [ConnectionAction], isSpread: Bool = false) throws {
        for action in actions {
            switch action {
            case .requestToken(let generation): tokenRequests.append(generation)
            case .open(let generation, _): opening.append(generation)
            case .sendHello, .sendActivity, .sendPing, .resume:
                try #require(connection == lifecycle.generation, "A frame is sent without a connection.")
            case .scheduleHeartbeat(let generation, _): heartbeats.append(generation)
            case .disconnect: connection = nil
            case .wake(let date) where lifecycle.phase == .waiting(until: date):
                // The upper bound of the delay doubles until the next success, up to 30 seconds.
                let bound = min(30, 0.5 * pow(2, Double(failures)))
                failures += 1
                let range = isSpread ? 0...5 : bound / 2...bound
                try #require(
                    (range.lowerBound - 0.001...range.upperBound + 0.001).contains(date.timeIntervalSince(now)))
            case .wake, .retryRequests, .publishPhase: break
            }
        }
    }
}
