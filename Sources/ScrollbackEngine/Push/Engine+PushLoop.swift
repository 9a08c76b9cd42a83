import Dispatch
package import Foundation
import ScrollbackModel

extension Engine {
    /// The maximum number of conversations with concurrent push walks.
    private static let maximumConcurrentWalks = 8
    /// The maximum number of retries that are processed together.
    private static let retryBatchSize = 200
    /// The delay before a step is repeated that the store failed to read or to write.
    private static let storeRetryDelay = RetryDelay(first: 1, maximum: 1, jitter: 1...1)

    /// Returns the number of messages with pending pushes, and of pending retries.
    package func pendingPushes() throws -> (waiting: Int64, retries: Int64) { try store.read { try $0.pushCounts() } }

    /// Sends pending pushes until the task is cancelled.
    package func runPushLoop() async {
        guard let gateway else { return }
        let schedule = OutboundSchedule(limit: Self.maximumConcurrentWalks, delay: Self.storeRetryDelay)
        await pushes.loop.run(schedule, clock: clock) { schedule, now in
            let settings = self.settings.push
            guard isLeader, settings.isOn else { return ([], nil) }
            return try store.read { store in
                try schedule.turn(
                    now: now, interval: Double(settings.intervalSeconds), nextRetry: store.nextPushRetry(),
                    pending: store.conversationsWithPushes(after:limit:))
            }
        } step: { [self] lane in
            await commits.giveWay()
            do {
                switch lane {
                case .conversation(let conversation): try await sendNextPage(conversation, settings.push, over: gateway)
                case .retries: try await sendRetries(settings.push, over: gateway)
                }
            } catch {
                pushes.loop.finish(lane, .failed)
            }
        }
    }

    /// Sends the next page of a conversation's push walk.
    private func sendNextPage(
        _ conversation: Int64, _ settings: PushSettings, over gateway: any PushGateway
    ) async throws {
        guard let page = try await onPushThread({ try self.page(of: conversation, settings) }) else {
            return pushes.loop.finish(.conversation(conversation), .progressed)
        }
        try await sendPushes(page.due, settings, over: gateway) { transaction in
            try transaction.store.put(page.walk, of: conversation)
            if page.walk == nil {
                try transaction.store.dropPushes(of: conversation, through: page.through)
            }
        } closed: {
            pushes.loop.finish(.conversation(conversation), page.walk == nil ? .delivered : .progressed)
        }
    }

    /// Sends due retries.
    private func sendRetries(_ settings: PushSettings, over gateway: any PushGateway) async throws {
        let now = clock()
        let due = try await onPushThread { try self.retries(dueBy: now, limit: Self.retryBatchSize, settings) }
        // Retries that are obsolete, because the message was read or recalled, or the device was removed.
        let unwanted = due.filter { $0.due == nil }.map(\.retry.number)
        try await sendPushes(due.compactMap(\.due), settings, over: gateway) { transaction in
            for number in unwanted { try transaction.store.dropPushRetry(number) }
        } closed: {
            pushes.loop.finish(.retries, .progressed)
        }
    }

    /// Runs a blocking read on the push thread, so that it blocks no other work.
    private func onPushThread<Answer: Sendable>(_ body: @escaping @Sendable () throws -> Answer) async throws -> Answer
    {
        try await withCheckedThrowingContinuation { continuation in
            pushThread.async { continuation.resume(with: Result { try body() }) }
        }
    }
}

/// The timing of pushes: how long to wait for answers, and before retries.
package struct PushTiming: Sendable {
    let retryDelay: RetryDelay
    /// How long a page stays open to wait for answers, in seconds.
    let answerTimeout: TimeInterval

    /// - Parameter firstDelay: The delay before the first retry, in seconds; it doubles with each further retry.
    package init(firstDelay: TimeInterval = 1, answerTimeout: TimeInterval = 2) {
        retryDelay = RetryDelay(first: firstDelay, maximum: 900, jitter: 0.75...1.25)
        self.answerTimeout = answerTimeout
    }
}
