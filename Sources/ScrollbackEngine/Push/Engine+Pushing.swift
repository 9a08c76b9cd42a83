import Dispatch
package import Foundation
import ScrollbackModel

extension Engine {
    /// How many conversations are walked at once.
    private static let walksAtOnce = 8
    /// How many retries are taken up together.
    private static let retriesAtOnce = 200

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
            let attempts = page.due.map { PushAttempt(due: $0) }
            try await handOver(attempts, settings, over: gateway) { transaction in
                try transaction.store.put(page.walk, of: conversation)
                if page.walk == nil {
                    try transaction.store.dropPushes(of: conversation, through: page.through)
                }
            } closed: {
                pushes.finish(PushStep(conversation: conversation, isOver: page.walk == nil))
            }
        } catch {
            pushes.finish(PushStep(conversation: conversation, failed: true))
        }
    }

    /// Tries again what is due.
    private func takeRetries(_ settings: PushSettings, over gateway: any PushGateway) async {
        do {
            let now = clock()
            let due = try await onPushThread { try self.retries(dueBy: now, limit: Self.retriesAtOnce, settings) }
            let attempts = due.compactMap { retry, due in due.map { PushAttempt(due: $0, retry: retry) } }
            // Not wanted any more: read, recalled, or its device is gone.
            let unwanted = due.filter { $0.due == nil }.map(\.retry.number)
            try await handOver(attempts, settings, over: gateway) { transaction in
                for number in unwanted { try transaction.store.dropPushRetry(number) }
            } closed: {
                pushes.finish(PushStep(conversation: PushSchedule.retries))
            }
        } catch {
            pushes.finish(PushStep(conversation: PushSchedule.retries, failed: true))
        }
    }

    /// Reads where waiting for the disk keeps nobody else waiting.
    private func onPushThread<Answer: Sendable>(_ body: @escaping @Sendable () throws -> Answer) async throws -> Answer
    {
        try await withCheckedThrowingContinuation { continuation in
            pushThread.async { continuation.resume(with: Result { try body() }) }
        }
    }

    func write<Answer: Sendable>(
        _ body: @escaping @Sendable (Transaction) throws -> Answer
    ) async throws(ChatError) -> Answer {
        let result: Result<Answer, ChatError> = await withCheckedContinuation { continuation in
            log.submit(body) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }
}

/// How long it is waited: for answers, and before a push is tried again.
package struct PushPacing: Sendable {
    /// Before the second try, in seconds; each further wait is twice as long.
    package var first: TimeInterval
    package var longest: TimeInterval
    /// How long a page is kept open for answers, in seconds.
    package var patience: TimeInterval

    package init(first: TimeInterval = 1, longest: TimeInterval = 900, patience: TimeInterval = 2) {
        self.first = first
        self.longest = longest
        self.patience = patience
    }

    func wait(after attempts: Int64) -> TimeInterval {
        min(longest, first * pow(2, Double(min(attempts, 30) - 1))) * Double.random(in: 0.75...1.25)
    }
}
