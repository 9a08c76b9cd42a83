import Dispatch
package import Foundation
package import ScrollbackModel
package import Synchronization

/// The chat server without a network: all operations, which the HTTP and WebSocket entry points call.
///
/// Read operations block and answer from one snapshot; call them on a thread that may block. Write operations are
/// queued for the store's single writer (``CommitQueue``) and complete asynchronously.
package final class Engine: Sendable {
    package let store: any MessageStore
    /// This server as one of the nodes that share the store, if several do.
    package let node: Node?
    package let commits: CommitQueue
    package let hub: Hub
    /// Issues and checks the checkpoints of clients.
    package let checkpoints: Checkpoints
    let directoryCursors: DirectoryCursors
    let clockJumps = Mutex(ClockJumps())
    /// Replaces the secret that signs tokens, which the engine does not know.
    let secretRotation = Mutex<(@Sendable (_ overlap: TimeInterval) throws -> SecretRotation)?>(nil)
    package let media: any MediaStore
    package let index: any MessageIndex
    package let limits: Limits
    package let permissions: Permissions
    package let clock: @Sendable () -> Date
    /// How long a search may run, and the clock that measures it.
    let searchTime: SearchTime
    /// The number of searches that were stopped because they took too long.
    package let stoppedSearches = Atomic<Int>(0)
    let current: SharedSettings
    /// Filters messages before they are sent; the built-in filter follows the settings.
    let filter: Mutex<any ContentFilter>
    private let hasCustomFilter: Bool
    /// The rate limit for mentions of everyone; `nil` for no limit.
    package let mentionLimiter: MentionLimiter?
    let webhooks: (any WebhookTransport)?
    package let orderedGate = OrderedGate()
    /// The number of times that the moderation webhook gave no valid answer since the start.
    package let failedReviews = Atomic<Int>(0)
    let presenceTracker = PresenceTracker()
    /// The record of erased users, which survives restoring the store from a backup.
    package let erasures: any ErasureRegister
    let erasing: ActiveErasures
    /// Writes backups when administrators ask for them.
    let backups: any BackupWriter
    package let deliveries: DeliveryQueue
    /// Receives the name of a webhook for events when it begins to fail, with the reason, and when it works again.
    let webhookStateChanged: @Sendable (_ webhook: String, _ failure: String?) -> Void
    /// Sends pushes to the push services; without it, no pushes are sent.
    let gateway: (any PushGateway)?
    package let pushes = PushQueue()
    /// A time at or before the one at which the next scheduled message is due.
    let nextScheduled: EarliestDate
    let pushTiming: PushTiming
    let pushThread = DispatchQueue(label: "scrollback.push", qos: .utility)
    /// What users have added today.
    package let ledger = QuotaLedger()
    /// The free space of the store's volume.
    package let space: StorageSpace
    /// The rate of each user's uploads.
    package let uploadPace: UploadPace
    /// The number of rows of invisible messages that were removed since the start.
    package let removedMessages = Atomic<Int>(0)
    /// The uploads that requests are writing to.
    let transfers = Transfers()
    /// Blobs that are protected from removal, or being removed.
    let blobPins = BlobPins()
    /// When to search next for blobs without a row, which a crash can leave.
    let nextOrphanScan = Mutex<Date>(.distantPast)
    package let mediaCounts = MediaCounts()
    /// Conversations that may have rows that no user can see.
    let unswept = Mutex<Set<ConversationID>>([])

    /// Creates an engine.
    ///
    /// - Parameters:
    ///   - node: This server as one of the nodes that share the store, if several do.
    ///   - index: Finds messages by words. The default reads every message for every search.
    ///   - media: Stores the bytes of files.
    ///   - execution: Where the store's writer runs.
    ///   - filter: Replaces the built-in content filter.
    ///   - mentionLimiter: The rate limit for mentions of everyone; `nil` for no limit.
    ///   - webhooks: Sends webhook requests; without it, no webhooks are called.
    ///   - webhookStateChanged: Receives the name of a webhook for events, and the reason when its requests begin to
    ///     fail. The reason is `nil` when all of its events are delivered again.
    ///   - gateway: Sends pushes to the push services; without it, no pushes are sent.
    ///   - erasures: Records erased users outside of the store's backups.
    ///   - backups: Writes backups when administrators ask for them; the default refuses.
    ///   - checkpointKey: The 32 random bytes that authenticate the checkpoints of clients and encrypt cursors of the
    ///     directory. They must survive restarts.
    ///   - rolledBack: Receives each rollback of the store, after its generation was renewed.
    ///   - space: The free space of the store's volume.
    ///   - uploadPace: The rate of each user's uploads.
    ///   - searchTime: How long a search may run.
    ///   - batchTime: The time after which a transaction begins no further change.
    ///   - observe: Receives a report after each commit.
    package init(
        store: any MessageStore, node: Node? = nil, index: any MessageIndex = ScanningIndex(),
        media: any MediaStore = MemoryMediaStore(),
        execution: CommitQueue.Execution = .thread,
        limits: Limits = .standard,
        permissions: Permissions = .standard, filter: (any ContentFilter)? = nil, mentionLimiter: MentionLimiter? = nil,
        webhooks: (any WebhookTransport)? = nil,
        webhookStateChanged: @escaping @Sendable (_ webhook: String, _ failure: String?) -> Void = { _, _ in },
        gateway: (any PushGateway)? = nil, pushTiming: PushTiming = .init(),
        erasures: any ErasureRegister = MemoryErasureRegister(), backups: any BackupWriter = NoBackupWriter(),
        space: StorageSpace = .unlimited, uploadPace: UploadPace = .unlimited,
        checkpointKey: [UInt8] = Checkpoints.makeKey(),
        rolledBack: @escaping @Sendable (Checkpoints.Rollback) -> Void = { _ in },
        clock: @escaping @Sendable () -> Date = { Date() }, searchTime: SearchTime = SearchTime(),
        batchTime: Duration = CommitQueue.standardBatchTime,
        observe: @escaping @Sendable (CommitReport) -> Void = { _ in }
    ) throws {
        let hub = Hub(clock: clock)
        // The node already knows the newest commit. The following snapshot is not older, so no change is missed.
        let checkpoints = try Checkpoints(store, node: node, key: checkpointKey, now: clock())
        let (settings, waiting, erasing, firstScheduled) = try store.read { store in
            (
                try Self.storedSettings(store), try store.deliveryCount(),
                Set(try store.openErasures(limit: .max).map(\.user)), try store.nextScheduled()
            )
        }
        let nextScheduled = EarliestDate(firstScheduled)
        self.nextScheduled = nextScheduled
        self.node = node
        self.checkpoints = checkpoints
        directoryCursors = DirectoryCursors(secret: checkpointKey)
        self.erasures = erasures
        self.backups = backups
        self.erasing = ActiveErasures(erasing)
        deliveries = DeliveryQueue(waiting: Int(waiting))
        let current = SharedSettings(settings)
        self.current = current
        self.filter = Mutex(filter ?? WordFilter(settings.moderation.bannedWords))
        hasCustomFilter = filter != nil
        self.mentionLimiter = mentionLimiter
        self.webhooks = webhooks
        self.webhookStateChanged = webhookStateChanged
        self.gateway = gateway
        self.pushTiming = pushTiming
        self.store = store
        self.hub = hub
        self.index = index
        self.media = media
        self.limits = limits
        self.permissions = permissions
        self.clock = clock
        self.space = space
        self.uploadPace = uploadPace
        self.searchTime = searchTime
        let publish = Self.publisher(to: hub, checkpoints, index, nextScheduled, rolledBack)
        let outbound = OutboundWork(deliveries: deliveries, pushes: pushes, ledger: ledger)
        commits = try CommitQueue(
            store: store, node: node, execution: execution, batchTime: batchTime,
            settings: { current.value.withLock { $0 } }, ledger: ledger, space: space, clock: clock,
            publish: publish, recordOutbound: { try outbound.record($0) },
            outboundCommitted: { outbound.committed($0) },
            expectsPushes: { [pushes] in pushes.isOn.load(ordering: .relaxed) }, observe: observe)
        apply(settings)
        node?.start(
            apply: { [weak self] effects, commit in self?.apply(effects, of: commit, publish) },
            signalled: { [weak self] signal in self?.take(signal) },
            recover: { [weak self] commit in try self?.recover(fromLossOf: commit) })
    }

    /// Returns a closure that publishes the events of a commit.
    private static func publisher(
        to hub: Hub, _ checkpoints: Checkpoints, _ index: any MessageIndex, _ nextScheduled: EarliestDate,
        _ rolledBack: @escaping @Sendable (Checkpoints.Rollback) -> Void
    ) -> @Sendable (_ events: [Event], _ commit: Int64) -> Void {
        { events, commit in
            for rollback in adoptIncarnations(in: events, checkpoints, hub) { rolledBack(rollback) }
            hub.publish(events, checkpoint: checkpoints.checkpoint(of: commit))
            let changed = Set(events.compactMap(\.changedConversation))
            if !changed.isEmpty { index.committed(changed, lastCommit: commit) }
            for case .scheduled(let date) in events { nextScheduled.add(date) }
        }
    }

    /// Applies new settings.
    ///
    /// - Parameter prepared: A filter built in advance, which is used if it matches the settings.
    func apply(_ settings: ServerSettings, _ prepared: WordFilter? = nil) {
        let words = settings.moderation.bannedWords
        if !hasCustomFilter, (filter.withLock { $0 } as? WordFilter)?.setting != words {
            let new = prepared.flatMap { $0.setting == words ? $0 : nil } ?? WordFilter(words)
            filter.withLock { $0 = new }
        }
        hub.rooms.setRateLimit(settings.moderation.roomMessagesPerSecond)
        deliveries.configure(settings.moderation.webhooks)
        updatePushState()
    }

    /// Updates whether pushes can be sent; settings and configuration can change at the same time.
    func updatePushState() {
        current.value.withLock { pushes.isOn.store(gateway != nil && $0.push.isOn, ordering: .relaxed) }
        pushes.loop.wakeUp()
    }

    /// Checks the number of elements that a page of a list may have.
    func checkLimit(_ limit: Int) throws(ChatError) {
        guard (1...limits.pageSize).contains(limit) else {
            throw .invalidParameter("limit", "must be in 1...\(limits.pageSize)", limit: limits.pageSize)
        }
    }

    /// Checks the number of users that one request may refer to.
    func checkCount(of users: [UserID]) throws(ChatError) {
        guard (1...limits.pageSize).contains(users.count) else {
            throw .invalidParameter("users", "must have 1...\(limits.pageSize) elements", limit: limits.pageSize)
        }
    }

    /// Runs a closure with the caller's access to a conversation and the snapshot that it is from.
    ///
    /// - Parameter needsHead: Whether the closure will compute the caller's head.
    func withAccess<Answer>(
        to id: ConversationID, for caller: Caller, needsHead: Bool = false,
        _ body: (Access, any StoreReader) throws -> Answer
    ) throws -> Answer {
        try read(about: [id], for: caller, needsHeads: needsHead) {
            try body(access(to: id, for: caller, in: $0), $0)
        }
    }

    /// Runs a closure that will compute the caller's access to conversations, on one snapshot.
    ///
    /// - Parameters:
    ///   - ids: The names of the conversations, which may be relative to the caller.
    ///   - needsHeads: Whether the closure will compute the caller's heads.
    func read<Answer>(
        about ids: [ConversationID], for caller: Caller, needsHeads: Bool = false,
        _ body: (any StoreReader) throws -> Answer
    ) throws -> Answer {
        var reads = ExpectedReads()
        reads.footprints = ids.map { id in
            var footprint = Footprint(id.absolute(for: caller.user), caller.user, needsAccess: true)
            footprint.needsHead = needsHeads
            return footprint
        }
        return try store.read(expecting: reads, body)
    }

    func access(to id: ConversationID, for caller: Caller, in store: any StoreReader) throws -> Access {
        try Access(
            to: id, for: caller, in: store, permissions: permissions, generation: self.store.generation, now: clock())
    }
}
