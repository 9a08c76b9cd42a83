import Foundation
import ScrollbackModel
import Synchronization

extension Engine {
    private enum SendEvent: Sendable {
        case answered(number: Int, PushOutcome)
        case tick
    }

    /// Sends pushes and stores their results.
    ///
    /// The page that the pushes belong to is closed after all answers arrived, or after ``PushTiming/answerTimeout``.
    /// Later answers are stored in intervals of the same length.
    ///
    /// - Parameters:
    ///   - close: Closes the page, in the transaction that stores the results.
    ///   - closed: Called after the page was closed.
    /// - Throws: The error that prevented closing the page.
    func sendPushes(
        _ due: [DuePush], _ settings: PushSettings, over gateway: any PushGateway,
        close: @escaping @Sendable (Transaction) throws -> Void, closed: () -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: SendEvent.self) { group in
            var batch = PushBatch(due, retryDelay: pushTiming.retryDelay)
            var generator = SystemRandomNumberGenerator()
            var late = 0
            defer { pushes.late.subtract(late, ordering: .relaxed) }

            while !batch.isFinished {
                // After a cancellation the timer would fire continuously.
                if batch.openCount > 0, !Task.isCancelled {
                    group.addTask { [pushTiming] in
                        try? await Task.sleep(for: .seconds(pushTiming.answerTimeout))
                        return .tick
                    }
                }
                while batch.openCount > 0 {
                    for (number, push) in batch.next() {
                        group.addTask {
                            .answered(number: number, await Self.send(push.notification, settings, over: gateway))
                        }
                    }
                    guard case .answered(let number, let outcome) = try await group.next() else { break }
                    guard let push = batch.answer(number, outcome, now: clock(), using: &generator) else { continue }
                    // Counted here rather than in the transaction, which may run again if another job of its batch
                    // fails.
                    pushes.counts.add(push.count, by: push.due.notification.device.service)
                }
                let others = pushes.late.load(ordering: .relaxed) - late
                guard let change = batch.change(now: clock(), otherLate: others) else { continue }
                do {
                    let leased = try await submit { transaction in
                        for push in change.answered { try self.settle(push, in: transaction) }
                        if change.closesPage { try close(transaction) }
                        return try change.leased.mapValues { row in
                            var row = row
                            try transaction.store.put(&row)
                            return row
                        }
                    }
                    batch.stored(leased)
                } catch {
                    // Late pushes have retry rows, so they are retried.
                    if !change.closesPage { break }
                    throw error
                }
                pushes.late.add(batch.openCount - late, ordering: .relaxed)
                late = batch.openCount
                // A retry may be due before the lease of its push would have ended.
                if change.closesPage { closed() } else { pushes.loop.wakeUp() }
            }
            group.cancelAll()
        }
    }

    private static func send(
        _ notification: PushNotification, _ settings: PushSettings, over gateway: any PushGateway
    ) async -> PushOutcome {
        guard let credentials = settings.credentials(for: notification.device.service) else {
            return .refused("The push service is not configured.")
        }
        return await gateway.send(notification, with: credentials)
    }

    /// Stores the result of a push.
    private func settle(_ push: AnsweredPush, in transaction: Transaction) throws {
        let due = push.due
        if case .gone(let since) = push.outcome {
            // A device that was registered later counts as a different device.
            let known = try transaction.store.pushDevices(of: due.user).first {
                $0.device.id == due.notification.device.id
            }
            if let known, known.device.token == due.notification.device.token,
                since.map({ known.registeredAt <= $0 }) ?? true
            {
                try transaction.dropPushDevice(known.device.id, of: due.user)
            }
        }
        if var retry = push.retry {
            try transaction.store.put(&retry)
        } else if let retry = due.retry {
            try transaction.store.dropPushRetry(retry.number)
        }
    }
}
