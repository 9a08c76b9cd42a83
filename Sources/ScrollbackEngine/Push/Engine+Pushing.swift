import Dispatch
package import Foundation
import ScrollbackModel

extension Engine {
    /// How many conversations are walked at once.
    private static let walksAtOnce = 8
    /// How many pushes of one page are handed over at once.
    private static let sendsAtOnce = 64
    /// How many retries are taken up together.
    private static let retriesAtOnce = 200
    /// How long a push is tried again.
    private static let longestRetry: TimeInterval = 86_400

    /// How many messages wait to be pushed, and how many pushes to be tried again.
    package func waitingPushes() throws -> (waiting: Int64, retries: Int64) { try store.read { try $0.pushCounts() } }

    /// Hands out what waits to be pushed; goes on until its task is cancelled.
    package func push() async {
        guard let gateway else { return }
        await withDiscardingTaskGroup { group in
            var schedule = PushSchedule(limit: Self.walksAtOnce)
            var wakes = pushes.wakes.makeAsyncIterator()
            while !Task.isCancelled {
                for step in pushes.takeFinished() { schedule.finished(step, now: clock()) }
                var next: Date?
                let settings = self.settings.push
                if settings.isOn {
                    do {
                        let work = try store.read {
                            try schedule.begin(from: $0, every: Double(settings.intervalSeconds), now: clock())
                        }
                        for conversation in work.conversations {
                            group.addTask { await self.takeStep(conversation, settings, over: gateway) }
                        }
                        if work.retries { group.addTask { await self.takeRetries(settings, over: gateway) } }
                        next = work.next
                    } catch {
                        next = clock() + 1
                    }
                }
                // Whichever comes first: something new, a step that is done, or the time of something that waits.
                let alarm = next.map { date in
                    Task { [clock, pushes] in
                        try? await Task.sleep(for: .seconds(max(0.01, date.timeIntervalSince(clock()))))
                        if !Task.isCancelled { pushes.begin() }
                    }
                }
                let isOver = await wakes.next() == nil
                alarm?.cancel()
                if isOver { return }
            }
        }
    }

    /// Sees to a page of those whom a conversation's pushes may reach.
    private func takeStep(_ conversation: Int64, _ settings: PushSettings, over gateway: any PushGateway) async {
        do {
            guard let page = try await onPushThread({ try self.page(of: conversation, settings) }) else {
                return pushes.finish(PushStep(conversation: conversation))
            }
            let outcomes = await send(page.due, settings, over: gateway)
            try await write { [self] transaction in
                for (due, outcome) in outcomes { try settle(due, outcome, nil, in: transaction) }
                try transaction.store.put(page.walk, of: conversation)
                if page.walk == nil {
                    try transaction.store.dropPushes(of: conversation, through: page.through)
                }
            }
            pushes.finish(PushStep(conversation: conversation, isOver: page.walk == nil))
        } catch {
            pushes.finish(PushStep(conversation: conversation, failed: true))
        }
    }

    /// Tries again what is due.
    private func takeRetries(_ settings: PushSettings, over gateway: any PushGateway) async {
        do {
            let now = clock()
            let due = try await onPushThread { try self.retries(dueBy: now, limit: Self.retriesAtOnce, settings) }
            let outcomes = await send(due.compactMap(\.due), settings, over: gateway)
            let byNumber = Dictionary(uniqueKeysWithValues: outcomes.map { ($0.0.number, $0.1) })
            try await write { [self] transaction in
                for (retry, push) in due {
                    guard let push, let outcome = byNumber[push.number] else {
                        // Not wanted any more: read, recalled, or its device is gone.
                        try transaction.store.dropPushRetry(retry.number)
                        continue
                    }
                    try settle(push, outcome, retry, in: transaction)
                }
            }
            pushes.finish(PushStep(conversation: PushSchedule.retries))
        } catch {
            pushes.finish(PushStep(conversation: PushSchedule.retries, failed: true))
        }
    }

    private func send(
        _ due: [DuePush], _ settings: PushSettings, over gateway: any PushGateway
    ) async -> [(DuePush, PushOutcome)] {
        await withTaskGroup(of: (DuePush, PushOutcome).self) { group in
            var outcomes: [(DuePush, PushOutcome)] = []
            var rest = due[...]
            func begin() {
                guard let next = rest.popFirst() else { return }
                group.addTask {
                    guard let credentials = settings.credentials(for: next.notification.device.service) else {
                        return (next, .refused("the service is not set up"))
                    }
                    return (next, await gateway.send(next.notification, with: credentials))
                }
            }
            for _ in 0..<Self.sendsAtOnce { begin() }
            while let outcome = await group.next() {
                outcomes.append(outcome)
                begin()
            }
            return outcomes
        }
    }

    /// Writes down what came of a push.
    ///
    /// - Parameter retry: what it was taken from, where it had been tried before.
    private func settle(
        _ due: DuePush, _ outcome: PushOutcome, _ retry: PushRetryRow?, in transaction: Transaction
    ) throws {
        let service = due.notification.device.service
        switch outcome {
        case .sent: pushes.counts.add(.sent, by: service)
        case .refused: pushes.counts.add(.refused, by: service)
        case .gone(let since):
            pushes.counts.add(.gone, by: service)
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
            let now = clock()
            let first = retry?.firstTriedAt ?? now
            guard now.timeIntervalSince(first) < Self.longestRetry else {
                pushes.counts.add(.expired, by: service)
                break
            }
            pushes.counts.add(.later, by: service)
            let attempts = (retry?.attempts ?? 0) + 1
            let wait = max(after ?? 0, pushPacing.wait(after: attempts))
            var row =
                retry
                ?? PushRetryRow(
                    user: due.user, device: due.notification.device.id, push: due.push, attempts: 0, notBefore: now,
                    firstTriedAt: now)
            row.attempts = attempts
            row.notBefore = now + wait
            return try transaction.store.put(&row)
        }
        if let retry { try transaction.store.dropPushRetry(retry.number) }
    }

    /// Reads where waiting for the disk keeps nobody else waiting.
    private func onPushThread<Answer: Sendable>(_ body: @escaping @Sendable () throws -> Answer) async throws -> Answer
    {
        try await withCheckedThrowingContinuation { continuation in
            pushThread.async { continuation.resume(with: Result { try body() }) }
        }
    }

    private func write<Answer: Sendable>(
        _ body: @escaping @Sendable (Transaction) throws -> Answer
    ) async throws(ChatError) -> Answer {
        let result: Result<Answer, ChatError> = await withCheckedContinuation { continuation in
            log.submit(body) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }
}

/// How long it is waited before a push is tried again.
package struct PushPacing: Sendable {
    /// Before the second try, in seconds; each further wait is twice as long.
    package var first: TimeInterval
    package var longest: TimeInterval

    package init(first: TimeInterval = 1, longest: TimeInterval = 900) {
        self.first = first
        self.longest = longest
    }

    func wait(after attempts: Int64) -> TimeInterval {
        min(longest, first * pow(2, Double(min(attempts, 30) - 1))) * Double.random(in: 0.75...1.25)
    }
}
