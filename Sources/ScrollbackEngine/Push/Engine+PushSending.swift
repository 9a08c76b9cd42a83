import Foundation
import ScrollbackModel
import Synchronization

/// A push that is being sent, with its retry row if it has one.
///
/// A push has a retry row if it is a retry or if its answer is late.
struct PushAttempt: Sendable {
    var due: DuePush
    var retry: PushRetryRow?

    /// Returns the push's retry row, or a new one.
    func row(now: Date) -> PushRetryRow {
        retry
            ?? PushRetryRow(
                user: due.user, device: due.notification.device.id, push: due.push, attempts: 0, notBefore: now,
                firstTriedAt: now)
    }
}

extension Engine {
    /// The maximum number of pushes of one page that are sent concurrently.
    private static let maximumConcurrentSends = 64
    /// The maximum number of late answers for closed pages; above it, a page stays open until its answers arrive.
    private static let maximumLateAnswers = 2_000
    /// How long a push with a late answer is reserved, in seconds, so that it is not retried; renewed after half of it.
    private static let lease: TimeInterval = 10

    private enum SendEvent: Sendable {
        case answered(number: Int, PushOutcome)
        case tick
    }

    /// Sends pushes and stores their results.
    ///
    /// The page that the pushes belong to is closed after all answers arrived, or after ``PushTiming/answerTimeout``.
    /// Pushes without an answer then get retry rows. A crash therefore loses none of them and repeats no others, and a
    /// slow
    /// push service does not delay the next page. Late answers are processed in intervals of the same length.
    ///
    /// - Parameters:
    ///   - close: Closes the page, in the transaction that stores the results.
    ///   - closed: Called after the page was closed.
    /// - Throws: The error that prevented closing the page.
    func sendPushes(
        _ attempts: [PushAttempt], _ settings: PushSettings, over gateway: any PushGateway,
        close: @escaping @Sendable (Transaction) throws -> Void, closed: () -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: SendEvent.self) { group in
            var rest = attempts[...]
            var open = Dictionary(uniqueKeysWithValues: attempts.map { ($0.due.number, $0) })
            var answered: [AnsweredPush] = []
            var isClosed = false
            var leasedUntil = Date.distantPast
            var late = 0
            defer { pushes.late.subtract(late, ordering: .relaxed) }

            func begin() {
                guard let next = rest.popFirst()?.due else { return }
                group.addTask {
                    guard let credentials = settings.credentials(for: next.notification.device.service) else {
                        return .answered(number: next.number, .refused("The push service is not configured."))
                    }
                    return .answered(
                        number: next.number, await gateway.send(next.notification, with: credentials))
                }
            }
            for _ in 0..<Self.maximumConcurrentSends { begin() }
            repeat {
                // After a cancellation the timer would fire continuously.
                if !open.isEmpty, !Task.isCancelled {
                    group.addTask { [pushTiming] in
                        try? await Task.sleep(for: .seconds(pushTiming.answerTimeout))
                        return .tick
                    }
                }
                while !open.isEmpty, case .answered(let number, let outcome) = try await group.next() {
                    begin()
                    guard let attempt = open.removeValue(forKey: number) else { continue }
                    let push = AnsweredPush(attempt, outcome, now: clock())
                    // Counted here rather than in the transaction, which may run again if another job of its batch
                    // fails.
                    pushes.counts.add(push.count, by: attempt.due.notification.device.service)
                    answered.append(push)
                }
                let others = pushes.late.load(ordering: .relaxed) - late
                guard isClosed || open.isEmpty || others + open.count <= Self.maximumLateAnswers else { continue }
                let leases = leasedUntil < clock() + Self.lease / 2
                if leases { leasedUntil = clock() + Self.lease }
                guard !isClosed || leases || !answered.isEmpty else { continue }
                let waiting = leases ? Array(open.values) : []
                do {
                    let leased = try await write { [self, answered, isClosed, leasedUntil] transaction in
                        for push in answered { try settle(push, in: transaction) }
                        if !isClosed { try close(transaction) }
                        return try waiting.map { try lease($0, until: leasedUntil, in: transaction) }
                    }
                    for attempt in leased { open[attempt.due.number] = attempt }
                } catch {
                    // Late pushes have retry rows, so they are retried.
                    if isClosed { break }
                    throw error
                }
                answered = []
                pushes.late.add(open.count - late, ordering: .relaxed)
                late = open.count
                // A retry may be due before the lease of its push would have ended.
                if isClosed { pushes.wakeUp() } else { closed() }
                isClosed = true
            } while !isClosed || !open.isEmpty
            group.cancelAll()
        }
    }

    /// Stores a retry row for a push in progress, so that it is retried if no answer arrives.
    private func lease(_ attempt: PushAttempt, until date: Date, in transaction: Transaction) throws -> PushAttempt {
        var row = attempt.row(now: clock())
        row.notBefore = date
        try transaction.store.put(&row)
        return PushAttempt(due: attempt.due, retry: row)
    }

    /// Stores the result of a push.
    private func settle(_ push: AnsweredPush, in transaction: Transaction) throws {
        let due = push.attempt.due
        switch push.outcome {
        case .sent, .refused: break
        case .gone(let since):
            // A device that was registered later counts as a different device.
            let known = try transaction.store.pushDevices(of: due.user).first {
                $0.device.id == due.notification.device.id
            }
            if let known, known.device.token == due.notification.device.token,
                since.map({ known.registeredAt <= $0 }) ?? true
            {
                try transaction.dropPushDevice(known.device.id, of: due.user)
            }
        case .later(let after, _):
            guard push.count == .later else { break }
            var row = push.attempt.row(now: push.time)
            row.attempts += 1
            row.notBefore = push.time + max(after ?? 0, pushTiming.wait(after: row.attempts))
            return try transaction.store.put(&row)
        }
        if let retry = push.attempt.retry { try transaction.store.dropPushRetry(retry.number) }
    }
}

/// A push with its answer.
private struct AnsweredPush: Sendable {
    /// How long a push is retried, in seconds.
    private static let retryPeriod: TimeInterval = 86_400

    let attempt: PushAttempt
    let outcome: PushOutcome
    let time: Date
    let count: PushCounts.Outcome

    init(_ attempt: PushAttempt, _ outcome: PushOutcome, now: Date) {
        (self.attempt, self.outcome, time) = (attempt, outcome, now)
        switch outcome {
        case .sent: count = .sent
        case .refused: count = .refused
        case .gone: count = .gone
        case .later:
            let first = attempt.retry?.firstTriedAt ?? now
            count = now.timeIntervalSince(first) < Self.retryPeriod ? .later : .expired
        }
    }
}
