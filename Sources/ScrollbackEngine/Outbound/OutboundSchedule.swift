package import Foundation

/// Decides which pending rows of an outbound queue are delivered next.
///
/// Each conversation has at most one step in progress, and conversations take turns. A conversation whose step fails
/// backs off without delaying others. If many conversations fail and none succeeds, the destination is considered
/// unavailable and all conversations pause.
package struct OutboundSchedule {
    /// What a step delivers; a lane has at most one step in progress.
    package enum Lane: Hashable, Sendable {
        /// The pending rows of a conversation.
        case conversation(Int64)
        /// Rows of all conversations that are retried, each at its own time. This lane doesn't count for the limit.
        case retries
    }

    /// The result of a step.
    package enum Outcome: Sendable {
        /// The lane may continue immediately.
        case progressed
        /// The lane delivered its rows. Its next step starts after the interval.
        case delivered
        /// The lane must repeat the step after the backoff.
        case failed
    }

    /// The lanes whose steps start now, and when to take the next turn.
    ///
    /// The end of a step also requires a turn.
    package typealias Turn = (lanes: [Lane], next: Date?)

    private struct Wait {
        var failures = 0
        var retryAt = Date.distantPast
        var deliveredAt = Date.distantPast

        mutating func fail(_ delay: RetryDelay, now: Date, using generator: inout some RandomNumberGenerator) {
            failures += 1
            retryAt = now + delay.seconds(afterFailures: failures, using: &generator)
            deliveredAt = .distantPast
        }

        func end(interval: TimeInterval) -> Date { max(retryAt, deliveredAt + interval) }
    }

    /// The number of conversations to read from the store at once.
    private static let pageSize = 100

    private let limit: Int
    private let delay: RetryDelay
    private let outageThreshold: Int
    private var inProgress: Set<Lane> = []
    private var waits: [Lane: Wait] = [:]
    /// The lanes with failed steps since the last success.
    private var failing: Set<Lane> = []
    private var outage = Wait()
    /// The conversation that was started last; the next one in number order follows.
    private var last: Int64 = 0

    /// Creates a schedule without steps in progress.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of conversations with steps in progress.
    ///   - delay: The backoff of a lane, and of all conversations during an outage.
    ///   - outageThreshold: The number of lanes that must fail in a row for an outage.
    package init(limit: Int, delay: RetryDelay, outageThreshold: Int = .max) {
        self.limit = limit
        self.delay = delay
        self.outageThreshold = outageThreshold
    }

    /// Whether a lane with pending rows has failed since its last success.
    ///
    /// Lanes that lost their rows, for example because a conversation was deleted, count until a turn examines them.
    package var hasFailures: Bool { waits.values.contains { $0.failures > 0 } }

    /// Ends all backoff, because the destination changed.
    package mutating func forgetFailures() {
        waits = [:]
        failing = []
        outage = Wait()
    }

    /// Records the end of a step.
    package mutating func finish(
        _ lane: Lane, _ outcome: Outcome, now: Date, using generator: inout some RandomNumberGenerator
    ) {
        inProgress.remove(lane)
        guard outcome == .failed else {
            waits[lane] = outcome == .delivered ? Wait(deliveredAt: now) : nil
            failing = []
            outage = Wait()
            return
        }
        waits[lane, default: Wait()].fail(delay, now: now, using: &generator)
        failing.insert(lane)
        if failing.count >= outageThreshold, outage.retryAt <= now { outage.fail(delay, now: now, using: &generator) }
    }

    /// Selects the steps to start now.
    ///
    /// - Parameters:
    ///   - interval: The minimum time between the delivery of a conversation and its next step, in seconds.
    ///   - nextRetry: When ``Lane/retries`` has work.
    ///   - pending: Returns conversations with pending rows: those after a number, in number order, up to a limit.
    /// - Throws: An error of `pending`. The schedule is then unchanged.
    package mutating func turn(
        now: Date, interval: TimeInterval = 0, nextRetry: Date? = nil,
        pending: (_ after: Int64, _ limit: Int) throws -> [Int64]
    ) rethrows -> Turn {
        var turn: Turn = ([], nil)
        func consider(_ lane: Lane, from date: Date) {
            guard !inProgress.contains(lane) else { return }
            let date = max(date, waits[lane]?.end(interval: interval) ?? date)
            if date <= now { turn.lanes.append(lane) } else { turn.next = min(turn.next ?? date, date) }
        }
        let busy = inProgress.subtracting([.retries]).count
        var sawAll = false
        if outage.retryAt > now {
            turn.next = outage.retryAt
        } else {
            for (lower, upper) in [(last, Int64.max), (0, last)] {
                var place = lower
                while place < upper, busy + turn.lanes.count < limit {
                    let page = try pending(place, Self.pageSize)
                    for conversation in page where conversation <= upper && busy + turn.lanes.count < limit {
                        consider(.conversation(conversation), from: .distantPast)
                    }
                    place = page.last ?? upper
                }
            }
            if case .conversation(let number)? = turn.lanes.last { last = number }
            sawAll = busy + turn.lanes.count < limit
            // At the limit, the end of a step triggers the next turn.
            if !sawAll { turn.next = nil }
        }
        if let nextRetry { consider(.retries, from: nextRetry) }
        inProgress.formUnion(turn.lanes)
        // If all pending conversations were examined, those that are due and were not started have no rows.
        waits = waits.filter { lane, wait in
            inProgress.contains(lane) || wait.end(interval: interval) > now || !sawAll && wait.failures > 0
        }
        return turn
    }
}

/// Exponential delays before retries, with jitter.
package struct RetryDelay: Sendable {
    private let first: TimeInterval
    private let maximum: TimeInterval
    private let jitter: ClosedRange<Double>

    /// Creates delays of which the first is `first` seconds, and each further one is twice as long, up to `maximum`.
    ///
    /// - Parameter jitter: Each delay is multiplied by a random number of this range.
    package init(first: TimeInterval, maximum: TimeInterval, jitter: ClosedRange<Double>) {
        self.first = first
        self.maximum = maximum
        self.jitter = jitter
    }

    /// Returns the delay after a number of consecutive failures, 1 or more.
    package func seconds(
        afterFailures failures: Int, using generator: inout some RandomNumberGenerator
    ) -> TimeInterval {
        min(maximum, first * pow(2, Double(min(failures, 30) - 1))) * Double.random(in: jitter, using: &generator)
    }
}
