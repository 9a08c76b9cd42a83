package import Foundation
import ScrollbackModel

/// The pushes of one page while they are being sent: which to send next, and what to store when.
///
/// The page is closed after all answers arrived, or when the time to wait for answers is over. Pushes without an answer
/// then get retry rows. A crash therefore loses none of them and repeats no others, and a slow push service does not
/// delay the next page.
package struct PushBatch {
    /// The results to store in one transaction.
    package struct Change: Sendable {
        package var answered: [AnsweredPush]
        /// The retry rows that reserve the pushes without an answer, by number.
        package var leased: [Int: PushRetryRow]
        /// Whether the transaction must close the page.
        package var closesPage: Bool
    }

    /// The maximum number of pushes that are sent concurrently.
    package static let maximumConcurrentSends = 64
    /// The maximum number of late answers for closed pages; above it, a page stays open until its answers arrive.
    package static let maximumLateAnswers = 2_000
    /// How long a push with a late answer is reserved, in seconds, so that it is not retried; renewed after half of it.
    package static let lease: TimeInterval = 10

    private let retryDelay: RetryDelay
    private var unsent: Range<Int>
    /// The pushes without an answer, by their number in the page.
    private var open: [Int: DuePush]
    private var answered: [AnsweredPush] = []
    private var leasedUntil = Date.distantPast
    private var isClosed = false

    /// The number of pushes without an answer.
    package var openCount: Int { open.count }
    /// Whether the results of all pushes are stored.
    package var isFinished: Bool { isClosed && open.isEmpty }

    package init(_ pushes: [DuePush], retryDelay: RetryDelay) {
        self.retryDelay = retryDelay
        unsent = pushes.indices
        open = Dictionary(uniqueKeysWithValues: zip(unsent, pushes))
    }

    /// Returns the pushes to send now, with their numbers.
    package mutating func next() -> [(Int, DuePush)] {
        let sending = open.count - unsent.count
        let next = unsent.prefix(Self.maximumConcurrentSends - sending)
        unsent = unsent.dropFirst(next.count)
        return next.compactMap { number in open[number].map { (number, $0) } }
    }

    /// Records the answer to a push; `nil` if it was recorded before.
    package mutating func answer(
        _ number: Int, _ outcome: PushOutcome, now: Date, using generator: inout some RandomNumberGenerator
    ) -> AnsweredPush? {
        guard let due = open.removeValue(forKey: number) else { return nil }
        let push = AnsweredPush(due, outcome, now: now, retryDelay, using: &generator)
        answered.append(push)
        return push
    }

    /// Returns the results to store, after all answers arrived or the time to wait for answers is over.
    ///
    /// - Parameter otherLate: The number of late answers of other pages.
    /// - Returns: `nil` if nothing needs to be stored.
    package mutating func change(now: Date, otherLate: Int) -> Change? {
        guard isClosed || open.isEmpty || otherLate + open.count <= Self.maximumLateAnswers else { return nil }
        let leases = leasedUntil < now + Self.lease / 2
        if leases { leasedUntil = now + Self.lease }
        guard !isClosed || leases || !answered.isEmpty else { return nil }
        let leased = leases ? open.mapValues { $0.retryRow(notBefore: leasedUntil, now: now) } : [:]
        return Change(answered: answered, leased: leased, closesPage: !isClosed)
    }

    /// Records that a change was stored.
    ///
    /// - Parameter leased: The retry rows of the change, with the numbers that the store assigned.
    package mutating func stored(_ leased: [Int: PushRetryRow]) {
        for (number, row) in leased { open[number]?.retry = row }
        answered = []
        isClosed = true
    }
}

/// A push with its answer.
package struct AnsweredPush: Sendable {
    /// How long a push is retried, in seconds.
    private static let retryPeriod: TimeInterval = 86_400

    package let due: DuePush
    package let outcome: PushOutcome
    package let count: PushCounts.Outcome
    /// The retry row to store; `nil` to delete the existing row.
    package let retry: PushRetryRow?

    init(
        _ due: DuePush, _ outcome: PushOutcome, now: Date, _ delay: RetryDelay,
        using generator: inout some RandomNumberGenerator
    ) {
        (self.due, self.outcome) = (due, outcome)
        switch outcome {
        case .sent: count = .sent
        case .refused: count = .refused
        case .gone: count = .gone
        case .later(let after, _):
            if let first = due.retry?.firstTriedAt, now.timeIntervalSince(first) >= Self.retryPeriod {
                count = .expired
            } else {
                count = .later
                var row = due.retryRow(notBefore: now, now: now)
                row.attempts += 1
                row.notBefore += max(after ?? 0, delay.seconds(afterFailures: Int(row.attempts), using: &generator))
                retry = row
                return
            }
        }
        retry = nil
    }
}
