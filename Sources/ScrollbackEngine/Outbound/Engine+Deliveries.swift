import Foundation
import ScrollbackModel
import ScrollbackWire
import Synchronization

extension Engine {
    /// The maximum number of conversations of one webhook with concurrent requests.
    private static let maximumConcurrentDeliveries = 8
    /// The maximum number of events in one request.
    private static let eventsPerRequest = 100
    /// The approximate maximum number of bytes in one request.
    private static let bytesPerRequest = 1 << 20
    /// How long to wait for the webhook's answer.
    private static let deliveryTimeout = Duration.seconds(10)
    private static let retryDelay = RetryDelay(first: 1, maximum: 60, jitter: 0.5...1)
    /// The maximum length of an error in the log.
    private static let errorCharacters = 200
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
        await loop.run(schedule, clock: clock) { schedule, now in
            guard isLeader, let webhook = deliveries.receiver(name)?.webhook else { return ([], nil) }
            if webhook != current { schedule.forgetFailures() }
            current = webhook
            return try store.read { store in
                try schedule.turn(now: now) {
                    try store.conversationsWithDeliveries(to: name, after: $0, limit: $1)
                }
            }
        } step: { [self] lane in
            loop.finish(lane, await deliver(lane, to: name, over: transport))
        }
    }

    /// Sends the pending events of one conversation, as many as fit into one request.
    private func deliver(
        _ lane: OutboundSchedule.Lane, to name: String, over transport: any WebhookTransport
    ) async -> OutboundSchedule.Outcome {
        guard case .conversation(let conversation) = lane, let receiver = deliveries.receiver(name),
            let rows = try? store.read({ try $0.deliveries(to: name, of: conversation, limit: Self.eventsPerRequest) })
        else { return .failed }
        // The messages of all pending events were deleted in the meantime.
        guard let first = rows.first else { return .delivered }
        var bytes = 0
        let batch = rows.prefix { row in
            defer { bytes += row.body.text.utf8.count }
            return bytes < Self.bytesPerRequest
        }
        var writer = JSONWriter(reserving: bytes + 256)
        writer.object { writer in
            writer.key("events")
            writer.array(batch) { writer, row in
                writer.object { writer in
                    writer.field("delivery", self.name(of: row.number))
                    writer.field("replayOf", row.original.map { self.name(of: $0) })
                    writer.field("data", row.body)
                }
            }
        }
        let last = batch.last?.number ?? first.number
        // The ID contains both ends, because a retry may have more events and thus a different body.
        let request = WebhookRequest(
            url: receiver.webhook.url, secret: receiver.webhook.secret,
            delivery: "\(self.name(of: first.number))-\(last)", body: writer.bytes, timeout: Self.deliveryTimeout,
            now: clock())
        let error = await post(request, over: transport)
        if error == nil {
            deliveries.posts.wrappingAdd(1, ordering: .relaxed)
        } else {
            deliveries.failures.wrappingAdd(1, ordering: .relaxed)
        }
        let attempt = DeliveryAttempt(at: clock(), error: error, keeps: error != nil || receiver.keepsLog)
        // Events whose delivery could not be recorded are sent again: delivery is at least once.
        guard
            let count = try? await submit({
                try $0.store.record(attempt, to: name, of: conversation, through: last)
            }), error == nil
        else { return .failed }
        deliveries.delivered(count)
        return .delivered
    }

    /// Sends a request.
    ///
    /// - Returns: The reason why the webhook did not accept it, or `nil`.
    private func post(_ request: WebhookRequest, over transport: any WebhookTransport) async -> String? {
        do {
            let response = try await transport.post(request)
            return response.isSuccess ? nil : "The webhook answered with status \(response.status)."
        } catch {
            return "The request failed: \("\(error)".prefix(Self.errorCharacters))"
        }
    }

    /// Returns the globally unique ID of a delivery; a restored store has a new generation, so its numbers don't
    /// collide.
    func name(of number: Int64) -> String { "\(String(store.generation, radix: 16))-\(number)" }

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
