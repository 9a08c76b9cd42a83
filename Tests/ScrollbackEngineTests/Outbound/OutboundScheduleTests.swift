import Foundation
import ScrollbackEngine
import ScrollbackModel
import TestSupport
import Testing

/// Tests how conversations take turns, back off and pause.
@Suite("The outbound schedule")
struct OutboundScheduleTests {
    private let now = Date(timeIntervalSince1970: 1_795_255_200)

    /// A schedule with exact delays, and the conversations with pending rows.
    private struct Queue {
        var schedule: OutboundSchedule
        var pending: [Int64] = [1, 2, 3, 4, 5]
        private var generator = SplitMix64(seed: 1)

        init(limit: Int, outageThreshold: Int = .max) {
            schedule = OutboundSchedule(
                limit: limit, delay: RetryDelay(first: 1, maximum: 60, jitter: 1...1), outageThreshold: outageThreshold)
        }

        mutating func turn(
            _ now: Date, interval: TimeInterval = 0, nextRetry: Date? = nil
        ) -> OutboundSchedule.Turn {
            schedule.turn(now: now, interval: interval, nextRetry: nextRetry) { after, limit in
                Array(pending.filter { $0 > after }.prefix(limit))
            }
        }

        mutating func start(_ now: Date, interval: TimeInterval = 0) -> [Int64] {
            turn(now, interval: interval).lanes.compactMap {
                if case .conversation(let number) = $0 { number } else { nil }
            }
        }

        mutating func finish(_ conversation: Int64, _ outcome: OutboundSchedule.Outcome, _ now: Date) {
            schedule.finish(.conversation(conversation), outcome, now: now, using: &generator)
        }
    }

    @Test("Conversations take turns, and at most the limit is in progress")
    func conversationsTakeTurns() {
        var queue = Queue(limit: 2)
        #expect(queue.start(now) == [1, 2] && queue.start(now) == [])
        queue.finish(1, .delivered, now)
        #expect(queue.start(now) == [3])
        queue.finish(2, .progressed, now)
        queue.finish(3, .delivered, now)
        #expect(queue.start(now) == [4, 5])
        queue.finish(4, .delivered, now)
        #expect(queue.start(now) == [1])
    }

    @Test("Conversations are read from the store in pages")
    func conversationsArePaged() {
        var queue = Queue(limit: 250)
        queue.pending = Array(1...250)
        #expect(queue.start(now) == queue.pending)
    }

    @Test("A conversation that fails waits longer after each failure, and delays no other")
    func failuresBackOff() {
        var queue = Queue(limit: 2)
        var time = now
        for wait in [1.0, 2, 4, 8, 16, 32, 60, 60] {
            queue.pending = [1, 2]
            #expect(queue.start(time) == [1, 2])
            queue.finish(1, .failed, time)
            queue.finish(2, .delivered, time)
            #expect(queue.start(time) == [2])
            queue.finish(2, .delivered, time)
            queue.pending = [1]
            #expect(queue.turn(time).next == time + wait)
            time += wait
        }
        for outcome in [OutboundSchedule.Outcome.delivered, .failed] {
            #expect(queue.start(time) == [1])
            queue.finish(1, outcome, time)
        }
        #expect(queue.turn(time).next == time + 1, "a success resets the backoff")
    }

    @Test(
        "If several conversations fail and none succeeds, all pause until the backoff ends or the destination changes")
    func outagePausesAll() {
        var queue = Queue(limit: 2, outageThreshold: 2)
        #expect(queue.start(now) == [1, 2])
        queue.finish(1, .failed, now)
        #expect(queue.start(now) == [3])
        queue.finish(2, .failed, now)
        let turn = queue.turn(now)
        #expect(turn.lanes.isEmpty && turn.next == now + 1)
        queue.finish(3, .failed, now)
        #expect(queue.start(now + 1) == [4, 5])
        queue.schedule.forgetFailures()
        queue.finish(4, .failed, now + 1)
        #expect(queue.start(now + 1) == [1], "another destination gets deliveries at once")
    }

    @Test("While the limit is reached, the schedule waits for the end of a step")
    func busyScheduleHasNoTimer() {
        var queue = Queue(limit: 1)
        #expect(queue.start(now) == [1])
        queue.finish(1, .failed, now)
        #expect(queue.start(now) == [2])
        #expect(queue.turn(now).next == nil)
    }

    @Test("The interval delays the next delivery of a conversation, also if it changes")
    func intervalDelaysNextDelivery() {
        var queue = Queue(limit: 1)
        queue.pending = [7]
        #expect(queue.start(now, interval: 30) == [7])
        queue.finish(7, .progressed, now)
        #expect(queue.start(now, interval: 30) == [7])
        queue.finish(7, .delivered, now)
        let turn = queue.turn(now, interval: 30)
        #expect(turn.lanes.isEmpty && turn.next == now + 30)
        #expect(queue.start(now + 29, interval: 30) == [])
        #expect(queue.start(now + 10, interval: 10) == [7])
    }

    @Test("Retries start at their time, one step at a time, even if the limit is reached")
    func retriesHaveTheirOwnLane() {
        var queue = Queue(limit: 1)
        #expect(queue.turn(now, nextRetry: now).lanes == [.conversation(1), .retries])
        #expect(queue.turn(now, nextRetry: now).lanes.isEmpty)
        var generator = SplitMix64(seed: 1)
        queue.schedule.finish(.retries, .progressed, now: now, using: &generator)
        #expect(queue.turn(now, nextRetry: now + 5).next == now + 5)
        #expect(queue.turn(now + 5, nextRetry: now + 5).lanes == [.retries])
        queue.schedule.finish(.retries, .failed, now: now + 5, using: &generator)
        let turn = queue.turn(now + 5, nextRetry: now + 5)
        #expect(turn.lanes.isEmpty && turn.next == now + 6)
    }

    @Test("An error of the store leaves the schedule unchanged")
    func errorChangesNothing() {
        struct Broken: Error {}
        var queue = Queue(limit: 2)
        #expect(throws: Broken.self) {
            try queue.schedule.turn(now: now) { after, _ in
                guard after == 0 else { throw Broken() }
                return [1]
            }
        }
        #expect(queue.start(now) == [1, 2])
    }

    @Test("Random steps: no row is delivered twice or forgotten, and a failing conversation delays no other")
    func randomSteps() async {
        for seed in Seeds.range(500) {
            await Task.yield()
            var scenario = Scenario(seed: seed)
            if let violation = scenario.run() {
                Issue.record("\(violation)\nReplay: SCROLLBACK_SEED=\(seed) swift test --filter OutboundScheduleTests")
                return
            }
        }
    }
}

/// Conversations with random rows and failures, and what the schedule may do with them.
private struct Scenario {
    typealias Lane = OutboundSchedule.Lane

    private var random: SplitMix64
    private let conversations: ClosedRange<Int64>
    private let limit: Int
    private let interval: TimeInterval
    private let outageThreshold: Int
    private var schedule: OutboundSchedule

    private var now = Date(timeIntervalSince1970: 1_795_255_200)
    private var rows: [Int64: Int] = [:]
    private var retries: [Date] = []
    private var broken: Set<Int64> = []
    private var inProgress: Set<Lane> = []
    /// When a lane may start, and its consecutive failures.
    private var waits: [Lane: (until: Date, failures: Int)] = [:]
    /// The conversations that failed since the last success.
    private var failing: Set<Int64> = []
    /// For each conversation that is due, the conversations that started before it.
    private var overtaken: [Int64: Set<Int64>] = [:]
    private var violation: String?

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
        conversations = 1...Int64.random(in: 1...9, using: &random)
        limit = Int.random(in: 1...4, using: &random)
        interval = [0, 0, 5].randomElement(using: &random)!
        outageThreshold = Bool.random(using: &random) ? limit : .max
        schedule = OutboundSchedule(
            limit: limit, delay: RetryDelay(first: 1, maximum: 60, jitter: 1...1), outageThreshold: outageThreshold)
        for conversation in conversations where Bool.random(using: &random) { rows[conversation] = 1 }
    }

    mutating func run() -> String? {
        for _ in 0..<200 where violation == nil {
            let conversation = Int64.random(in: conversations, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0...2: rows[conversation, default: 0] += 1
            case 3...6: if let lane = inProgress.randomElement(using: &random) { finish(lane) }
            case 7: now += TimeInterval.random(in: 0...3, using: &random)
            case 8: broken.formSymmetricDifference([conversation])
            default: retries.append(now + TimeInterval.random(in: 0...20, using: &random))
            }
            turn()
        }
        // Everything is delivered after all conversations were repaired.
        broken = []
        for _ in 0..<10_000 where violation == nil {
            if let lane = inProgress.randomElement(using: &random) {
                finish(lane)
            } else if rows.isEmpty && retries.isEmpty {
                return nil
            }
            if let next = turn(), inProgress.isEmpty { now = next }
        }
        return violation ?? "Rows of \(rows.keys.sorted()) are still pending."
    }

    private func date(_ lane: Lane) -> Date { waits[lane]?.until ?? .distantPast }

    private mutating func finish(_ lane: Lane) {
        inProgress.remove(lane)
        var outcome = OutboundSchedule.Outcome.progressed
        switch lane {
        case .retries: retries.removeAll { $0 <= now }
        case .conversation(let conversation):
            if broken.contains(conversation) {
                outcome = .failed
                failing.insert(conversation)
                let failures = (waits[lane]?.failures ?? 0) + 1
                waits[lane] = (now + min(60, pow(2, Double(failures - 1))), failures)
            } else {
                rows[conversation]! -= 1
                if rows[conversation] == 0 { rows[conversation] = nil }
                outcome = rows[conversation] == nil ? .delivered : .progressed
                waits[lane] = (outcome == .delivered ? now + interval : now, 0)
            }
        }
        if outcome != .failed { failing = [] }
        schedule.finish(lane, outcome, now: now, using: &random)
    }

    @discardableResult
    private mutating func turn() -> Date? {
        let due = Set(rows.keys.filter { !inProgress.contains(.conversation($0)) && date(.conversation($0)) <= now })
        overtaken = overtaken.filter { due.contains($0.key) }
        let nextRetry = retries.min()
        let pending = rows.keys.sorted()
        let turn = schedule.turn(now: now, interval: interval, nextRetry: nextRetry) { after, limit in
            Array(pending.drop { $0 <= after }.prefix(limit))
        }
        for lane in turn.lanes {
            check(inProgress.insert(lane).inserted, "\(lane) starts while it is in progress.")
            switch lane {
            case .retries: check(nextRetry.map { $0 <= now } ?? false, "No retry is due.")
            case .conversation(let started):
                check(due.contains(started), "\(lane) starts without rows or before its time.")
                overtaken[started] = nil
                for other in due
                where !inProgress.contains(.conversation(other)) && !turn.lanes.contains(.conversation(other)) {
                    check(
                        overtaken[other, default: []].insert(started).inserted, "\(started) overtakes \(other) twice.")
                }
            }
        }
        let busy = inProgress.subtracting([.retries])
        check(busy.count <= limit, "\(busy.count) steps are in progress.")
        check(nextRetry.map { $0 > now || inProgress.contains(.retries) } ?? true, "A retry that is due is forgotten.")
        // During an outage and at the limit, conversations wait.
        let retry = inProgress.contains(.retries) ? nil : nextRetry
        if failing.count >= outageThreshold {
            check(!busy.isEmpty || rows.isEmpty || turn.next.map { $0 <= now + 60 } ?? false, "The outage has no end.")
        } else if busy.count == limit {
            check(turn.next == retry, "The schedule sets a timer although the limit is reached.")
        } else {
            let waiting = rows.keys.map(Lane.conversation).filter { !inProgress.contains($0) }.map(date)
            check(waiting.allSatisfy { $0 > now }, "A conversation that is due is forgotten.")
            check(turn.next == (waiting + [retry].compactMap(\.self)).min(), "The next turn is at the wrong time.")
        }
        return turn.next
    }

    private mutating func check(_ condition: Bool, _ message: @autoclosure () -> String) {
        if !condition, violation == nil { violation = message() }
    }
}
