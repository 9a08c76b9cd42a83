import Dispatch
package import Foundation
package import ScrollbackModel
package import Synchronization

/// The server without a network: every operation, as two doors (HTTP and WebSocket) call it.
///
/// Reads block and answer from one snapshot; call them from a thread that may wait. Writes are queued for the log's one
/// writer and answer by their completion.
package final class Engine: Sendable {
    package let store: any MessageStore
    package let log: Log
    package let hub: Hub
    package let media: any MediaStore
    package let index: any MessageIndex
    package let limits: Limits
    package let permissions: Permissions
    package let clock: @Sendable () -> Date
    let current: SharedSettings
    /// Looks at what is said; one that was handed in stays, the built-in one follows the settings.
    let filter: Mutex<any ContentFilter>
    private let hasOwnFilter: Bool
    let webhooks: (any WebhookTransport)?
    let turnstile = Turnstile()
    let presenceBoard = PresenceBoard()
    /// Who was erased, whatever becomes of the store.
    package let erasures: any ErasureRegister
    let erasing: Erasing
    package let deliveries: Deliveries
    /// Hands pushes to the services; without one there are none.
    let gateway: (any PushGateway)?
    package let pushes = PushQueue()
    let pushPacing: PushPacing
    let pushThread = DispatchQueue(label: "scrollback.push", qos: .utility)
    /// How many messages that nobody could see were removed since the start.
    package let removedMessages = Atomic<Int>(0)
    /// Who writes to which upload now.
    let transfers = Transfers()
    /// Blobs that are about to be used, or to be removed.
    let pins = BlobPins()
    /// When it is next looked for bytes that no row knows of: a crash leaves some.
    let nextSearchForRemains = Mutex<Date>(.distantPast)
    package let mediaCounts = MediaCounts()
    /// Conversations with rows that nobody can see any more.
    let unswept = Mutex<Set<ConversationID>>([])

    /// - Parameters:
    ///   - index: finds words; without one every message is read for every search.
    ///   - media: where the bytes of files lie.
    ///   - filter: looks at what is said in place of the built-in one.
    ///   - erasures: remembers who was erased, where restoring a backup does not reach.
    ///   - webhooks: reaches the operator's own program; without one nobody is asked or told.
    ///   - gateway: hands pushes to the services; without one there are none.
    package init(
        store: any MessageStore, index: any MessageIndex = ScanningIndex(), media: any MediaStore = MemoryMediaStore(),
        execution: Log.Execution = .thread,
        limits: Limits = .standard,
        permissions: Permissions = .standard, filter: (any ContentFilter)? = nil,
        webhooks: (any WebhookTransport)? = nil, gateway: (any PushGateway)? = nil, pushPacing: PushPacing = .init(),
        erasures: any ErasureRegister = MemoryErasureRegister(),
        clock: @escaping @Sendable () -> Date = { Date() },
        observe: @escaping @Sendable (CommitReport) -> Void = { _ in }
    ) throws {
        let hub = Hub(clock: clock)
        let (settings, waiting, erasing) = try store.read { store in
            (
                try Self.storedSettings(store), try store.deliveryCount(),
                Set(try store.openErasures(limit: .max).map(\.user))
            )
        }
        self.erasures = erasures
        self.erasing = Erasing(erasing)
        deliveries = Deliveries(waiting: Int(waiting))
        let current = SharedSettings(settings)
        self.current = current
        self.filter = Mutex(filter ?? WordFilter(settings.manners.bannedWords))
        hasOwnFilter = filter != nil
        self.webhooks = webhooks
        self.gateway = gateway
        self.pushPacing = pushPacing
        self.store = store
        self.hub = hub
        self.index = index
        self.media = media
        self.limits = limits
        self.permissions = permissions
        self.clock = clock
        log = try Log(
            store: store, execution: execution, settings: { current.value.withLock { $0 } }, clock: clock,
            publish: { [index] events, commit in
                hub.publish(events)
                let changed = Set(events.compactMap(\.changedConversation))
                if !changed.isEmpty { index.committed(changed, moved: commit) }
            },
            record: { [deliveries, pushes] transaction in
                var recorded = Recorded()
                recorded.deliveries = try deliveries.record(transaction)
                recorded.pushes = try pushes.record(transaction)
                return recorded
            },
            recorded: { [deliveries, pushes] recorded in
                deliveries.recorded(recorded.deliveries)
                if recorded.pushes { pushes.begin() }
            }, observe: observe)
        follow(settings)
    }

    /// Takes up settings that hold from here on.
    ///
    /// - Parameter prepared: a filter that may be the one they ask for.
    func follow(_ settings: ServerSettings, _ prepared: WordFilter? = nil) {
        let words = settings.manners.bannedWords
        if !hasOwnFilter, (filter.withLock { $0 } as? WordFilter)?.setting != words {
            let new = prepared.flatMap { $0.setting == words ? $0 : nil } ?? WordFilter(words)
            filter.withLock { $0 = new }
        }
        hub.rooms.setPace(settings.manners.roomMessagesPerSecond)
        deliveries.after.withLock { $0 = settings.manners.webhooks.after }
        deliveries.begin()
        followPush()
    }

    /// Takes up where pushes can go; a change of settings and one of the configuration may come at once.
    func followPush() {
        current.value.withLock { pushes.isOn.store(gateway != nil && $0.push.isOn, ordering: .relaxed) }
        pushes.begin()
    }

    /// How many elements a page of a list may have.
    func checkLimit(_ limit: Int) throws(ChatError) {
        guard (1...limits.pageSize).contains(limit) else {
            throw .invalidParameter("limit", "must be in 1...\(limits.pageSize)", limit: limits.pageSize)
        }
    }

    /// How many people may be asked about at once.
    func checkCount(of users: [UserID]) throws(ChatError) {
        guard (1...limits.pageSize).contains(users.count) else {
            throw .invalidParameter("users", "must have 1...\(limits.pageSize) elements", limit: limits.pageSize)
        }
    }

    func access(to id: ConversationID, for caller: Caller, in store: any StoreReader) throws -> Access {
        try Access(
            to: id, for: caller, in: store, permissions: permissions, generation: self.store.generation, now: clock())
    }
}
