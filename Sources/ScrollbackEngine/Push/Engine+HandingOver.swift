import Foundation
import ScrollbackModel
import Synchronization

/// A push that is handed over, and its row among what is to be tried again, if it has one: it was taken from there, or its answer
/// is late.
struct PushAttempt: Sendable {
    var due: DuePush
    var retry: PushRetryRow?

    /// That row, or a new one.
    func row(now: Date) -> PushRetryRow {
        retry
            ?? PushRetryRow(
                user: due.user, device: due.notification.device.id, push: due.push, attempts: 0, notBefore: now,
                firstTriedAt: now)
    }
}

extension Engine {
    /// How many pushes of one page are handed over at once.
    private static let sendsAtOnce = 64
    /// How many late answers are waited for while walks go on; with more, a page stays open.
    private static let lateAnswersAtOnce = 2_000
    /// For how long a late answer's push is nobody else's to try, in seconds; it is renewed at half of it.
    private static let lease: TimeInterval = 10

    private enum Sign: Sendable {
        case answered(number: Int, PushOutcome)
        case tick
    }

    /// Hands pushes over, and writes down what comes of them.
    ///
    /// The page they are of is closed when all are answered, or after ``PushPacing/patience``: those that are late then get rows
    /// of what is to be tried again. So a kill loses none of them and repeats nobody else's, and who waits for the next page waits
    /// no longer for a service that hangs. Late answers are taken all the same, and written down as often as pages would be closed.
    ///
    /// - Parameters:
    ///   - close: what closes the page, in the transaction that writes down the answers.
    ///   - closed: called when it is.
    /// - Throws: what kept the page from being closed.
    func handOver(
        _ attempts: [PushAttempt], _ settings: PushSettings, over gateway: any PushGateway,
        close: @escaping @Sendable (Transaction) throws -> Void, closed: () -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Sign.self) { group in
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
                        return .answered(number: next.number, .refused("the service is not set up"))
                    }
                    return .answered(
                        number: next.number, await gateway.send(next.notification, with: credentials))
                }
            }
            for _ in 0..<Self.sendsAtOnce { begin() }
            repeat {
                // Once it is cancelled a clock would tick without end.
                if !open.isEmpty, !Task.isCancelled {
                    group.addTask { [pushPacing] in
                        try? await Task.sleep(for: .seconds(pushPacing.patience))
                        return .tick
                    }
                }
                while !open.isEmpty, case .answered(let number, let outcome) = try await group.next() {
                    begin()
                    guard let attempt = open.removeValue(forKey: number) else { continue }
                    let push = AnsweredPush(attempt, outcome, now: clock())
                    // Not where it is written down, which is done again where another write of the same transaction failed.
                    pushes.counts.add(push.count, by: attempt.due.notification.device.service)
                    answered.append(push)
                }
                let others = pushes.late.load(ordering: .relaxed) - late
                guard isClosed || open.isEmpty || others + open.count <= Self.lateAnswersAtOnce else { continue }
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
                    // What is late has its row: it is tried again.
                    if isClosed { break }
                    throw error
                }
                answered = []
                pushes.late.add(open.count - late, ordering: .relaxed)
                late = open.count
                // What came late may be due sooner than its lease was over.
                if isClosed { pushes.begin() } else { closed() }
                isClosed = true
            } while !isClosed || !open.isEmpty
            group.cancelAll()
        }
    }

    /// Writes down that a push is under way, and is to be tried again where nothing more is heard of it.
    private func lease(_ attempt: PushAttempt, until date: Date, in transaction: Transaction) throws -> PushAttempt {
        var row = attempt.row(now: clock())
        row.notBefore = date
        try transaction.store.put(&row)
        return PushAttempt(due: attempt.due, retry: row)
    }

    /// Writes down what came of a push.
    private func settle(_ push: AnsweredPush, in transaction: Transaction) throws {
        let due = push.attempt.due
        switch push.outcome {
        case .sent, .refused: break
        case .gone(let since):
            // What was registered since is another device as far as the service goes.
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
            row.notBefore = push.time + max(after ?? 0, pushPacing.wait(after: row.attempts))
            return try transaction.store.put(&row)
        }
        if let retry = push.attempt.retry { try transaction.store.dropPushRetry(retry.number) }
    }
}

/// A push that was handed over, and what is made of the answer.
private struct AnsweredPush: Sendable {
    /// How long a push is tried again.
    private static let longestRetry: TimeInterval = 86_400

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
            count = now.timeIntervalSince(first) < Self.longestRetry ? .later : .expired
        }
    }
}
