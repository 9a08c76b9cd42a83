import ScrollbackModel
import ScrollbackWire
package import Synchronization

/// The queue of webhook deliveries about stored messages.
///
/// The transaction of a change also stores its delivery, which stays until the webhook acknowledges it.
package final class DeliveryQueue: Sendable {
    let after = Mutex<WebhookSettings.After?>(nil)
    let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    /// The completed requests, until the scheduler reads them.
    private let finished = Mutex<[(conversation: Int64, isAcknowledged: Bool)]>([])
    /// The number of acknowledged requests since the start.
    package let posts = Atomic<Int>(0)
    /// The number of failed requests since the start.
    package let failures = Atomic<Int>(0)

    /// The number of pending events, counted when the store is opened and updated since then.
    package let waiting: Atomic<Int>

    init(waiting: Int) {
        self.waiting = Atomic(waiting)
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func wakeUp() { wake.yield() }

    func finish(_ conversation: Int64, isAcknowledged: Bool) {
        finished.withLock { $0.append((conversation, isAcknowledged)) }
        wakeUp()
    }

    func takeFinished() -> [(conversation: Int64, isAcknowledged: Bool)] {
        finished.withLock { finished in
            defer { finished = [] }
            return finished
        }
    }

    /// Stores deliveries for the events of a transaction.
    ///
    /// - Returns: The number of stored deliveries.
    func record(_ transaction: Transaction) throws -> Int {
        guard transaction.notifiesWebhook ?? after.withLock({ $0 != nil }) else { return 0 }
        var count = 0
        for event in transaction.events {
            guard let (conversation, body) = Self.body(of: event), let row = try transaction.conversation(conversation)
            else { continue }
            try transaction.store.insertDelivery(body, of: row.number)
            count += 1
        }
        return count
    }

    /// Records that a commit stored deliveries.
    func recorded(_ count: Int) {
        guard count > 0 else { return }
        waiting.wrappingAdd(count, ordering: .relaxed)
        wakeUp()
    }

    /// Records that a commit deleted deliveries.
    func dropped(_ count: Int) { waiting.wrappingSubtract(count, ordering: .relaxed) }

    private static func body(of event: Event) -> (ConversationID, RawJSON)? {
        var writer = JSONWriter(reserving: 512)
        switch event {
        case .message(let message, _, _):
            writer.object { writer in
                writer.field("event", "message")
                writer.key("message")
                message.write(to: &writer)
            }
            return (message.conversation, writer.json)
        case .changed(let id, let change, _, _):
            switch change {
            case .message(let message):
                writer.object { writer in
                    writer.field("event", "changed")
                    writer.key("message")
                    message.write(to: &writer)
                }
            case .removed(let places, let rev):
                writer.object { writer in
                    writer.field("event", "removed")
                    writer.field("conversation", id)
                    writer.field("lower", places.lowerBound)
                    writer.field("upper", places.upperBound)
                    writer.field("rev", rev)
                }
            case .invisible: return nil
            }
            return (id, writer.json)
        case .reported(let report):
            writer.object { writer in
                writer.field("event", "report")
                writer.key("report")
                writer.object { report.writeMembers(to: &$0) }
            }
            return (report.conversation, writer.json)
        default: return nil
        }
    }
}
