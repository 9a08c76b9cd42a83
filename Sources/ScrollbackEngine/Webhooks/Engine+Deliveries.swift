import Foundation
import ScrollbackModel
import ScrollbackWire
import Synchronization

extension Engine {
    /// How many conversations are told of at once.
    private static let deliveriesAtOnce = 8
    /// The most events, and about the most bytes, of one post.
    private static let eventsOfPost = 100
    private static let bytesOfPost = 1 << 20
    /// How long the program may take to say that it has something.
    private static let deliveryTimeout = Duration.seconds(10)
    /// The longest wait before trying again.
    private static let longestWait: TimeInterval = 60

    /// How many events wait to be told.
    package var waitingDeliveries: Int { deliveries.waiting.load(ordering: .relaxed) }

    /// Tells the operator's program what waits to be told, of each conversation in its order, again and again until it says
    /// that it has it; goes on until its task is cancelled.
    package func deliver() async {
        guard let webhooks else { return }
        await withDiscardingTaskGroup { group in
            var schedule = DeliverySchedule(limit: Self.deliveriesAtOnce, longestWait: Self.longestWait)
            var wakes = deliveries.wakes.makeAsyncIterator()
            while !Task.isCancelled {
                for (conversation, isTaken) in deliveries.takeFinished() {
                    schedule.finished(conversation, isTaken: isTaken, now: clock())
                }
                var next: Date?
                if let hook = deliveries.after.withLock({ $0 }) {
                    schedule.follow(hook)
                    do {
                        let ready = try store.read { try schedule.begin(from: $0, now: clock()) }
                        for conversation in ready {
                            group.addTask { [deliveries] in
                                let isTaken = await self.deliver(conversation, to: hook, over: webhooks)
                                deliveries.finish(conversation, isTaken: isTaken)
                            }
                        }
                        next = schedule.next
                    } catch {
                        next = clock() + 1
                    }
                }
                // Whichever comes first: something new, a post that is done, or the time to try something old again.
                let alarm = next.map { date in
                    Task { [clock, deliveries] in
                        try? await Task.sleep(for: .seconds(max(0.01, date.timeIntervalSince(clock()))))
                        if !Task.isCancelled { deliveries.begin() }
                    }
                }
                let isOver = await wakes.next() == nil
                alarm?.cancel()
                if isOver { return }
            }
        }
    }

    /// Posts what waits of one conversation, as much as goes into one post.
    ///
    /// - Returns: whether it was taken.
    private func deliver(
        _ conversation: Int64, to hook: WebhookSettings.After, over transport: any WebhookTransport
    ) async -> Bool {
        guard let rows = try? store.read({ try $0.deliveries(of: conversation, limit: Self.eventsOfPost) }),
            let first = rows.first
        else { return false }
        var bytes = 0
        let batch = rows.prefix { row in
            defer { bytes += row.body.text.utf8.count }
            return bytes < Self.bytesOfPost
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
        // By its ends: of a later try more may be in it, and that is another body.
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
        // What could not be dropped is told again: at least once.
        guard case .success(let count) = result else { return false }
        deliveries.dropped(count)
        return true
    }

    /// Names a delivery for good: a restored store counts anew, under another generation.
    private func name(of number: Int64) -> String { "\(String(store.generation, radix: 16))-\(number)" }
}
