import ScrollbackModel
package import Synchronization

/// The queue of webhook deliveries about stored events.
///
/// The transaction of a change also stores its deliveries, one for each webhook that selects the event. They stay until
/// the webhook acknowledges them, and then in the log for some time.
package final class DeliveryQueue: Sendable {
    /// The webhooks of the current settings.
    struct Receivers: Sendable {
        var all: [String: WebhookSettings.After] = [:]
        /// The events that at least one webhook selects.
        var kinds: Set<WebhookEvent.Kind> = []
        var keepsLog = false

        init(_ settings: WebhookSettings) {
            all = settings.receivers
            kinds = all.values.reduce(into: []) { $0.formUnion($1.events) }
            keepsLog = settings.logHours > 0
        }
    }

    private struct State {
        var receivers = Receivers(.init())
        /// The loop of each webhook since the start, also of those that were removed.
        var loops: [String: OutboundLoop] = [:]
    }

    private let state = Mutex(State())
    /// The names of new webhooks, each once.
    let newNames: AsyncStream<String>
    private let announce: AsyncStream<String>.Continuation
    /// The number of acknowledged requests since the start.
    package let posts = Atomic<Int>(0)
    /// The number of failed requests since the start.
    package let failures = Atomic<Int>(0)

    /// The number of pending events, counted when the store is opened and updated since then.
    package let waiting: Atomic<Int>

    init(waiting: Int) {
        self.waiting = Atomic(waiting)
        (newNames, announce) = AsyncStream.makeStream()
    }

    /// Applies new settings.
    func configure(_ settings: WebhookSettings) {
        let receivers = Receivers(settings)
        let new = state.withLock { state in
            state.receivers = receivers
            let new = receivers.all.keys.filter { state.loops[$0] == nil }
            for name in new { state.loops[name] = OutboundLoop() }
            return new
        }
        for name in new { announce.yield(name) }
        wakeUp()
    }

    /// Requests a turn of all webhooks.
    func wakeUp() {
        for loop in state.withLock({ Array($0.loops.values) }) { loop.wakeUp() }
    }

    func loop(of name: String) -> OutboundLoop? { state.withLock { $0.loops[name] } }

    /// Returns a webhook, and whether its delivered events are kept.
    func receiver(_ name: String) -> (webhook: WebhookSettings.After, keepsLog: Bool)? {
        state.withLock { state in state.receivers.all[name].map { ($0, state.receivers.keepsLog) } }
    }

    var names: [String] { state.withLock { $0.receivers.all.keys.sorted() } }

    /// Stores deliveries for the events of a transaction.
    ///
    /// - Returns: The change of the number of pending deliveries.
    func record(_ transaction: Transaction) throws -> Int {
        let receivers = transaction.webhooks.map { Receivers($0) } ?? state.withLock { $0.receivers }
        guard !receivers.all.isEmpty else { return transaction.pendingDeliveries }
        let names = receivers.all.keys.sorted()
        var count = 0
        for event in transaction.events {
            try dropDeletedContent(of: event, transaction)
            for event in WebhookEvent.events(of: event) where receivers.kinds.contains(event.kind) {
                var row = DeliveryRow(event.kind.rawValue, seq: event.seq, body: event.body)
                if let id = event.conversation {
                    guard let conversation = try transaction.conversation(id) else { continue }
                    row.conversation = conversation.number
                }
                for name in names where receivers.all[name]?.events.contains(event.kind) == true {
                    row.webhook = name
                    try transaction.store.insertDelivery(row)
                    count += 1
                }
            }
        }
        return count + transaction.pendingDeliveries
    }

    /// Removes the content of deleted messages from the queue and the log.
    ///
    /// The webhooks receive the deletion. Of a deleted range with many deliveries, the sweeper removes the rest.
    private func dropDeletedContent(of event: Event, _ transaction: Transaction) throws {
        let deleted: (ConversationID, SeqRange, limit: Int)? =
            switch event {
            case .changed(let id, .message(let message), _, _) where message.isDeleted:
                (id, message.seq...message.seq, .max)
            case .changed(let id, .removed(let places, _), _, _): (id, places, Transaction.deliveriesPerStep)
            case .conversationDeleted(let id): (id, 0...Seq.max, .max)
            default: nil
            }
        guard let (id, places, limit) = deleted, let row = try transaction.conversation(id) else { return }
        try transaction.dropDeliveries(of: places, in: row.number, limit: limit)
    }

    /// Records that a commit changed the number of pending deliveries.
    func recorded(_ change: Int) {
        guard change != 0 else { return }
        waiting.wrappingAdd(change, ordering: .relaxed)
        wakeUp()
    }

    /// Records that pending deliveries were delivered.
    func delivered(_ count: Int) { waiting.wrappingSubtract(count, ordering: .relaxed) }
}
