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

    /// Tells the operator's program what waits to be told, of each conversation in its order, again and again until it says
    /// that it has it; goes on until its task is cancelled.
    package func deliver() async {
        guard let webhooks else { return }
        deliveries.waiting.store(
            (try? store.read { Int(try $0.deliveryCount()) }) ?? 0, ordering: .relaxed)
        var retries: [Int64: Retry] = [:]
        var wakes = deliveries.wakes.makeAsyncIterator()
        while !Task.isCancelled {
            guard let hook = deliveries.after.withLock({ $0 }), let ready = try? readyConversations(&retries) else {
                _ = await wakes.next()
                continue
            }
            guard !ready.isEmpty else {
                // Whichever comes first: something new, or the time to try something old again.
                retries = retries.filter { $0.value.notBefore > clock() }
                let next = retries.values.map(\.notBefore).min()
                let deliveries = deliveries
                let alarm = next.map { date in
                    Task { [clock] in
                        try? await Task.sleep(for: .seconds(max(0.01, date.timeIntervalSince(clock()))))
                        if !Task.isCancelled { deliveries.begin() }
                    }
                }
                _ = await wakes.next()
                alarm?.cancel()
                continue
            }
            let results = await withTaskGroup(of: (Int64, Bool).self) { group in
                for conversation in ready {
                    group.addTask { (conversation, await self.deliver(conversation, to: hook, over: webhooks)) }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            for (conversation, isDone) in results {
                if isDone {
                    retries[conversation] = nil
                } else {
                    retries[conversation, default: Retry()].failed(now: clock(), longest: Self.longestWait)
                }
            }
        }
    }

    /// When a conversation is told of again whose last post was not taken.
    private struct Retry {
        var notBefore = Date.distantPast
        private var failures = 0

        mutating func failed(now: Date, longest: TimeInterval) {
            let wait = min(longest, pow(2, Double(min(failures, 10))))
            failures += 1
            notBefore = now + wait * Double.random(in: 0.5...1)
        }
    }

    private func readyConversations(_ retries: inout [Int64: Retry]) throws -> [Int64] {
        let now = clock()
        var ready: [Int64] = []
        var last: Int64 = 0
        while ready.count < Self.deliveriesAtOnce {
            let page = try store.read { try $0.conversationsWithDeliveries(after: last, limit: 100) }
            guard let end = page.last else { break }
            ready += page.filter { retries[$0].map { $0.notBefore <= now } ?? true }
            last = end
        }
        return Array(ready.prefix(Self.deliveriesAtOnce))
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
        let request = WebhookRequest(
            url: hook.url, secret: hook.secret, delivery: name(of: first.number), body: writer.bytes,
            timeout: Self.deliveryTimeout, now: clock())
        guard let response = try? await transport.post(request), response.isSuccess else {
            deliveries.failures.wrappingAdd(1, ordering: .relaxed)
            return false
        }
        deliveries.posts.wrappingAdd(1, ordering: .relaxed)
        let last = batch.last?.number ?? first.number
        let count = batch.count
        let result: Result<Void, ChatError> = await withCheckedContinuation { continuation in
            log.submit({ try $0.store.dropDeliveries(of: conversation, through: last) }) {
                continuation.resume(returning: $0)
            }
        }
        // What could not be dropped is told again: at least once.
        guard case .success = result else { return false }
        deliveries.waiting.wrappingSubtract(count, ordering: .relaxed)
        return true
    }

    /// Names a delivery for good: a restored store counts anew, under another generation.
    private func name(of number: Int64) -> String { "\(String(store.generation, radix: 16))-\(number)" }
}
