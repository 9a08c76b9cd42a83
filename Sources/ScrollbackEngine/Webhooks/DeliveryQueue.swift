import ScrollbackModel
import ScrollbackWire
package import Synchronization

/// The queue of webhook deliveries about stored messages.
///
/// The transaction of a change also stores its delivery, which stays until the webhook acknowledges it.
package final class DeliveryQueue: Sendable {
    let loop = OutboundLoop()
    let after = Mutex<WebhookSettings.After?>(nil)
    /// The number of acknowledged requests since the start.
    package let posts = Atomic<Int>(0)
    /// The number of failed requests since the start.
    package let failures = Atomic<Int>(0)

    /// The number of pending events, counted when the store is opened and updated since then.
    package let waiting: Atomic<Int>

    init(waiting: Int) {
        self.waiting = Atomic(waiting)
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
        loop.wakeUp()
    }

    /// Records that a commit deleted deliveries.
    func dropped(_ count: Int) { waiting.wrappingSubtract(count, ordering: .relaxed) }

    private static func body(of event: Event) -> (ConversationID, RawJSON)? {
        func body(_ name: String, _ writeMembers: (inout JSONWriter) -> Void) -> RawJSON {
            var writer = JSONWriter(reserving: 512)
            writer.object { writer in
                writer.field("event", name)
                writeMembers(&writer)
            }
            return writer.json
        }
        func body(_ name: String, _ message: Message) -> RawJSON {
            body(name) { writer in
                writer.key("message")
                message.write(to: &writer)
            }
        }
        switch event {
        case .message(let message, _, _): return (message.conversation, body("message", message))
        case .changed(let id, .message(let message), _, _): return (id, body("changed", message))
        case .changed(let id, .removed(let places, let rev), _, _):
            let removed = body("removed") { writer in
                writer.field("conversation", id)
                writer.field("lower", places.lowerBound)
                writer.field("upper", places.upperBound)
                writer.field("rev", rev)
            }
            return (id, removed)
        case .reported(let report):
            let reported = body("report") { writer in
                writer.key("report")
                writer.object { report.writeMembers(to: &$0) }
            }
            return (report.conversation, reported)
        default: return nil
        }
    }
}
