import Foundation
import ScrollbackModel
import ScrollbackWire
import Synchronization

extension Engine {
    /// The maximum number of conversations with concurrent requests.
    private static let maximumConcurrentDeliveries = 8
    /// The maximum number of events in one request.
    private static let eventsPerRequest = 100
    /// The approximate maximum number of bytes in one request.
    private static let bytesPerRequest = 1 << 20
    /// How long to wait for the webhook's answer.
    private static let deliveryTimeout = Duration.seconds(10)
    private static let retryDelay = RetryDelay(first: 1, maximum: 60, jitter: 0.5...1)

    /// The number of pending events.
    package var pendingDeliveries: Int { deliveries.waiting.load(ordering: .relaxed) }

    /// Sends pending events to the webhook until the task is cancelled.
    ///
    /// Events of a conversation are delivered in order, and each is repeated until the webhook acknowledges it.
    package func runDeliveryLoop() async {
        guard let webhooks else { return }
        let schedule = OutboundSchedule(
            limit: Self.maximumConcurrentDeliveries, delay: Self.retryDelay,
            outageThreshold: Self.maximumConcurrentDeliveries)
        var current: WebhookSettings.After?
        await deliveries.loop.run(schedule, clock: clock) { schedule, now in
            guard let hook = deliveries.after.withLock({ $0 }) else { return ([], nil) }
            if hook != current { schedule.forgetFailures() }
            current = hook
            return try store.read {
                try schedule.turn(now: now, pending: $0.conversationsWithDeliveries(after:limit:))
            }
        } step: { [self] lane in
            deliveries.loop.finish(lane, await deliver(lane, over: webhooks))
        }
    }

    /// Sends the pending events of one conversation, as many as fit into one request.
    private func deliver(
        _ lane: OutboundSchedule.Lane, over transport: any WebhookTransport
    ) async -> OutboundSchedule.Outcome {
        guard case .conversation(let conversation) = lane, let hook = deliveries.after.withLock({ $0 }),
            let rows = try? store.read({ try $0.deliveries(of: conversation, limit: Self.eventsPerRequest) }),
            let first = rows.first
        else { return .failed }
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
                    writer.field("delivery", name(of: row.number))
                    writer.field("data", row.body)
                }
            }
        }
        let last = batch.last?.number ?? first.number
        // The ID contains both ends, because a retry may have more events and thus a different body.
        let request = WebhookRequest(
            url: hook.url, secret: hook.secret, delivery: "\(name(of: first.number))-\(last)", body: writer.bytes,
            timeout: Self.deliveryTimeout, now: clock())
        guard let response = try? await transport.post(request), response.isSuccess else {
            deliveries.failures.wrappingAdd(1, ordering: .relaxed)
            return .failed
        }
        deliveries.posts.wrappingAdd(1, ordering: .relaxed)
        // Events that could not be deleted are sent again: delivery is at least once.
        guard let count = try? await write({ try $0.store.dropDeliveries(of: conversation, through: last) }) else {
            return .failed
        }
        deliveries.dropped(count)
        return .delivered
    }

    /// Returns the globally unique ID of a delivery; a restored store has a new generation, so its numbers don't
    /// collide.
    private func name(of number: Int64) -> String { "\(String(store.generation, radix: 16))-\(number)" }
}
