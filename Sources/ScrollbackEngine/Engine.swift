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
    package init(
        store: any MessageStore, index: any MessageIndex = ScanningIndex(), media: any MediaStore = MemoryMediaStore(),
        execution: Log.Execution = .thread,
        limits: Limits = .standard,
        permissions: Permissions = .standard, clock: @escaping @Sendable () -> Date = { Date() },
        observe: @escaping @Sendable (CommitReport) -> Void = { _ in }
    ) throws {
        let hub = Hub()
        let settings = SharedSettings(try Self.storedSettings(store))
        current = settings
        self.store = store
        self.hub = hub
        self.index = index
        self.media = media
        self.limits = limits
        self.permissions = permissions
        self.clock = clock
        log = try Log(
            store: store, execution: execution, mediaLimits: { settings.value.withLock { $0.mediaLimits } },
            clock: clock,
            publish: { [index] events, commit in
                hub.publish(events)
                let changed = Set(events.compactMap(\.changedConversation))
                if !changed.isEmpty { index.committed(changed, moved: commit) }
            }, observe: observe)
    }

    func access(to id: ConversationID, for caller: Caller, in store: any StoreReader) throws -> Access {
        try Access(to: id, for: caller, in: store, permissions: permissions, generation: self.store.generation)
    }
}
