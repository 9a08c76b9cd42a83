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
    /// The maximum backoff, in seconds.
    private static let maximumBackoff: TimeInterval = 60

    /// The number of pending events.
    package var pendingDeliveries: Int { deliveries.waiting.load(ordering: .relaxed) }

    /// Sends pending events to the webhook until the task is cancelled.
    ///
    /// Events of a conversation are delivered in order, and each is repeated until the webhook acknowledges it.
    package func runDeliveryLoop() async {
        guard let webhooks else { return }
        await withDiscardingTaskGroup { group in
            var schedule = DeliverySchedule(
                limit: Self.maximumConcurrentDeliveries, maximumBackoff: Self.maximumBackoff)
            var wakes = deliveries.wakes.makeAsyncIterator()
            while !Task.isCancelled {
                for (conversation, isAcknowledged) in deliveries.takeFinished() {
                    schedule.finished(conversation, isAcknowledged: isAcknowledged, now: clock())
                }
                var next: Date?
                if let hook = deliveries.after.withLock({ $0 }) {
                    schedule.apply(hook)
                    do {
                        let ready = try store.read { try schedule.nextWork(from: $0, now: clock()) }
                        for conversation in ready {
                            group.addTask { [deliveries] in
                                let isAcknowledged = await self.deliver(conversation, to: hook, over: webhooks)
                                deliveries.finish(conversation, isAcknowledged: isAcknowledged)
                            }
                        }
                        next = schedule.next
                    } catch {
                        next = clock() + 1
                    }
                }
                // Waits for a new event, the end of a request, or the next due time, whichever comes first.
                let alarm = next.map { date in
                    Task { [clock, deliveries] in
                        try? await Task.sleep(for: .seconds(max(0.01, date.timeIntervalSince(clock()))))
                        if !Task.isCancelled { deliveries.wakeUp() }
                    }
                }
                let isOver = await wakes.next() == nil
                alarm?.cancel()
                if isOver { return }
            }
        }
    }

    /// Sends the pending events of one conversation, as many as fit into one request.
    ///
    /// - Returns: Whether the webhook acknowledged them.
    private func deliver(
        _ conversation: Int64, to hook: WebhookSettings.After, over transport: any WebhookTransport
    ) async -> Bool {
        guard let rows = try? store.read({ try $0.deliveries(of: conversation, limit: Self.eventsPerRequest) }),
            let first = rows.first
        else { return false }
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
            return false
        }
        deliveries.posts.wrappingAdd(1, ordering: .relaxed)
        let result: Result<Int, ChatError> = await withCheckedContinuation { continuation in
            log.submit({ try $0.store.dropDeliveries(of: conversation, through: last) }) {
                continuation.resume(returning: $0)
            }
        }
        // Events that could not be deleted are sent again: delivery is at least once.
        guard case .success(let count) = result else { return false }
        deliveries.dropped(count)
        return true
    }

    /// Returns the globally unique ID of a delivery; a restored store has a new generation, so its numbers don't
    /// collide.
    private func name(of number: Int64) -> String { "\(String(store.generation, radix: 16))-\(number)" }
}
