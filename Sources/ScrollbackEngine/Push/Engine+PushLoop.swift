import Dispatch
package import Foundation
import ScrollbackModel

extension Engine {
    /// The maximum number of conversations with concurrent push walks.
    private static let maximumConcurrentWalks = 8
    /// The maximum number of retries that are processed together.
    private static let retryBatchSize = 200

    /// Returns the number of messages with pending pushes, and of pending retries.
    package func pendingPushes() throws -> (waiting: Int64, retries: Int64) { try store.read { try $0.pushCounts() } }

    /// Sends pending pushes until the task is cancelled.
    package func runPushLoop() async {
        guard let gateway else { return }
        await withDiscardingTaskGroup { group in
            var schedule = PushSchedule(limit: Self.maximumConcurrentWalks)
            var wakes = pushes.wakes.makeAsyncIterator()
            while !Task.isCancelled {
                for step in pushes.takeFinished() { schedule.finished(step, now: clock()) }
                var next: Date?
                let settings = self.settings.push
                if settings.isOn {
                    do {
                        let work = try store.read {
                            try schedule.nextWork(from: $0, every: Double(settings.intervalSeconds), now: clock())
                        }
                        for conversation in work.conversations {
                            group.addTask { await self.sendNextPage(conversation, settings, over: gateway) }
                        }
                        if work.retries { group.addTask { await self.sendRetries(settings, over: gateway) } }
                        next = work.next
                    } catch {
                        next = clock() + 1
                    }
                }
                // Waits for a new push, the end of a step, or the next due time, whichever comes first.
                let alarm = next.map { date in
                    Task { [clock, pushes] in
                        try? await Task.sleep(for: .seconds(max(0.01, date.timeIntervalSince(clock()))))
                        if !Task.isCancelled { pushes.wakeUp() }
                    }
                }
                let isOver = await wakes.next() == nil
                alarm?.cancel()
                if isOver { return }
            }
        }
    }

    /// Sends the next page of a conversation's push walk.
    private func sendNextPage(_ conversation: Int64, _ settings: PushSettings, over gateway: any PushGateway) async {
        do {
            guard let page = try await onPushThread({ try self.page(of: conversation, settings) }) else {
                return pushes.finish(PushStep(conversation: conversation))
            }
            let attempts = page.due.map { PushAttempt(due: $0) }
            try await sendPushes(attempts, settings, over: gateway) { transaction in
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

    /// Sends due retries.
    private func sendRetries(_ settings: PushSettings, over gateway: any PushGateway) async {
        do {
            let now = clock()
            let due = try await onPushThread { try self.retries(dueBy: now, limit: Self.retryBatchSize, settings) }
            let attempts = due.compactMap { retry, due in due.map { PushAttempt(due: $0, retry: retry) } }
            // Retries that are obsolete, because the message was read or recalled, or the device was removed.
            let unwanted = due.filter { $0.due == nil }.map(\.retry.number)
            try await sendPushes(attempts, settings, over: gateway) { transaction in
                for number in unwanted { try transaction.store.dropPushRetry(number) }
            } closed: {
                pushes.finish(PushStep(conversation: PushSchedule.retries))
            }
        } catch {
            pushes.finish(PushStep(conversation: PushSchedule.retries, failed: true))
        }
    }

    /// Runs a blocking read on the push thread, so that it blocks no other work.
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

/// The timing of pushes: how long to wait for answers, and before retries.
package struct PushTiming: Sendable {
    /// The delay before the first retry, in seconds; it doubles with each further retry.
    package var firstDelay: TimeInterval
    package var maximumDelay: TimeInterval
    /// How long a page stays open to wait for answers, in seconds.
    package var answerTimeout: TimeInterval

    package init(firstDelay: TimeInterval = 1, maximumDelay: TimeInterval = 900, answerTimeout: TimeInterval = 2) {
        self.firstDelay = firstDelay
        self.maximumDelay = maximumDelay
        self.answerTimeout = answerTimeout
    }

    func wait(after attempts: Int64) -> TimeInterval {
        min(maximumDelay, firstDelay * pow(2, Double(min(attempts, 30) - 1))) * Double.random(in: 0.75...1.25)
    }
}
