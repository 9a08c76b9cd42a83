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

    private func wakeUp() {
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
    /// - Returns: The number of stored deliveries.
    func record(_ transaction: Transaction) throws -> Int {
        let receivers = transaction.webhooks.map { Receivers($0) } ?? state.withLock { $0.receivers }
        guard !receivers.all.isEmpty else { return 0 }
        let names = receivers.all.keys.sorted()
        var count = transaction.replays
        for event in transaction.events {
            if receivers.keepsLog { try dropDeletedContent(of: event, transaction) }
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
        return count
    }

    /// Removes delivered events with the content of deleted messages from the log.
    private func dropDeletedContent(of event: Event, _ transaction: Transaction) throws {
        let deleted: (ConversationID, SeqRange)? =
            switch event {
            case .changed(let id, .message(let message), _, _) where message.isDeleted:
                (id, message.seq...message.seq)
            case .changed(let id, .removed(let places, _), _, _): (id, places)
            case .conversationDeleted(let id): (id, 0...Seq.max)
            default: nil
            }
        guard let (id, places) = deleted, let row = try transaction.conversation(id) else { return }
        try transaction.store.dropDelivered(places, in: row.number)
    }

    /// Records that a commit stored deliveries.
    func recorded(_ count: Int) {
        guard count > 0 else { return }
        waiting.wrappingAdd(count, ordering: .relaxed)
        wakeUp()
    }

    /// Records that a commit deleted or delivered pending deliveries.
    func dropped(_ count: Int) { waiting.wrappingSubtract(count, ordering: .relaxed) }
}
