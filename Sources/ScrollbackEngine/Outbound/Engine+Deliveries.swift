import Foundation
import ScrollbackModel
import Synchronization

extension Engine {
    /// The maximum number of conversations of one webhook with concurrent requests.
    private static let maximumConcurrentDeliveries = 8
    /// How long to wait for the webhook's answer.
    private static let deliveryTimeout = Duration.seconds(10)
    private static let retryDelay = RetryDelay(first: 1, maximum: 60, jitter: 0.5...1)
    /// The number of newest events, of all webhooks together, among which delivered ones are kept.
    static let loggedEvents: Int64 = 10_000

    /// The number of pending events.
    package var pendingDeliveries: Int { deliveries.waiting.load(ordering: .relaxed) }

    /// Sends pending events to the webhooks until the task is cancelled.
    ///
    /// Each webhook gets the events of a conversation in order, and each is repeated until the webhook acknowledges it.
    /// Webhooks do not delay each other.
    package func runDeliveryLoop() async {
        guard let webhooks else { return }
        await withDiscardingTaskGroup { group in
            for await name in deliveries.newNames {
                group.addTask { [self] in await runDeliveryLoop(of: name, over: webhooks) }
            }
            group.cancelAll()
        }
    }

    private func runDeliveryLoop(of name: String, over transport: any WebhookTransport) async {
        guard let loop = deliveries.loop(of: name) else { return }
        let schedule = OutboundSchedule(
            limit: Self.maximumConcurrentDeliveries, delay: Self.retryDelay,
            outageThreshold: Self.maximumConcurrentDeliveries)
        var current: WebhookSettings.After?
        var isFailing = false
        let lastError = Mutex<String?>(nil)
        await loop.run(schedule, clock: clock) { schedule, now in
            guard isLeader, let webhook = deliveries.receiver(name)?.webhook else { return ([], nil) }
            if webhook != current {
                schedule.forgetFailures()
                isFailing = false
                lastError.withLock { $0 = nil }
            }
            current = webhook
            let turn = try store.read { store in
                try schedule.turn(now: now) {
                    try store.conversationsWithDeliveries(to: name, after: $0, limit: $1)
                }
            }
            // One conversation whose events the webhook refuses must not report both states again and again. So the
            // webhook works again when the events of all conversations are delivered.
            let error = schedule.hasFailures ? lastError.withLock(\.self) : nil
            if let error, !isFailing {
                isFailing = true
                webhookStateChanged(name, error)
            } else if isFailing, !schedule.hasFailures {
                isFailing = false
                lastError.withLock { $0 = nil }
                webhookStateChanged(name, nil)
            }
            return turn
        } step: { [self] lane in
            let outcome = await deliver(lane, to: name, over: transport) { error in
                lastError.withLock { $0 = error }
            }
            loop.finish(lane, outcome)
        }
    }

    /// Sends the pending events of one conversation, as many as fit into one request.
    ///
    /// - Parameter noteFailure: Receives the reason if the webhook does not acknowledge the events.
    private func deliver(
        _ lane: OutboundSchedule.Lane, to name: String, over transport: any WebhookTransport,
        noteFailure: @Sendable (_ reason: String) -> Void
    ) async -> OutboundSchedule.Outcome {
        guard case .conversation(let conversation) = lane, let receiver = deliveries.receiver(name),
            let rows = try? store.read({
                try $0.deliveries(to: name, of: conversation, limit: DeliveryBatch.maximumEvents)
            })
        else { return .failed }
        // The messages of all pending events were deleted in the meantime.
        guard let batch = DeliveryBatch(rows, generation: store.generation) else { return .delivered }
        let request = WebhookRequest(
            url: receiver.webhook.url, secret: receiver.webhook.secret, delivery: batch.id, body: batch.body,
            timeout: Self.deliveryTimeout, now: clock())
        let answer = await post(request, over: transport)
        let attempt = DeliveryAttempt(answer, at: clock(), keepsLog: receiver.keepsLog)
        if let error = attempt.error {
            deliveries.failures.wrappingAdd(1, ordering: .relaxed)
            noteFailure(error)
        } else {
            deliveries.posts.wrappingAdd(1, ordering: .relaxed)
        }
        // Events whose delivery could not be recorded are sent again: delivery is at least once.
        guard
            let count = try? await submit({
                try $0.store.record(attempt, to: name, of: conversation, through: batch.last)
            }), attempt.error == nil
        else { return .failed }
        deliveries.delivered(count)
        return .delivered
    }

    private func post(
        _ request: WebhookRequest, over transport: any WebhookTransport
    ) async -> Result<WebhookResponse, any Error> {
        do {
            return .success(try await transport.post(request))
        } catch {
            return .failure(error)
        }
    }

    /// Returns the globally unique ID of a delivery.
    func name(of number: Int64) -> String { DeliveryBatch.name(of: number, generation: store.generation) }

    /// The time before which delivered events are removed from the log.
    var oldestLoggedDelivery: Date {
        let settings = settings
        var hours = settings.moderation.webhooks.logHours
        if case .days(let days) = settings.retention { hours = min(hours, days * 24) }
        return clock().addingTimeInterval(-3600 * Double(hours))
    }

    /// Checks that a webhook exists.
    ///
    /// - Throws: `invalid-parameter` with the names of the webhooks.
    func checkWebhook(_ name: String) throws(ChatError) {
        let names = deliveries.names
        guard names.contains(name) else {
            throw .invalidParameter(
                "webhook",
                names.isEmpty
                    ? "can't be \(name), because the server has no webhooks for events"
                    : "must be one of \(names.joined(separator: ", "))")
        }
    }
}
