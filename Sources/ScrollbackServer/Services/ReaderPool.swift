import CoreMetrics
import NIOPosix
package import ScrollbackEngine
package import ScrollbackModel
import Synchronization

/// Threads that run work that may wait for the disk, shared fairly between users.
///
/// Users get threads in turn, and one user occupies at most half of them.
package final class ReaderPool: Sendable {
    private struct Item {
        var queuedAt: ContinuousClock.Instant
        var work: @Sendable () -> Void
    }

    /// The number of threads.
    package let threadCount: Int
    private let maximumOwnCount: Int
    private let hasLowPriority: Bool
    private let threads: NIOThreadPool
    private let schedule: Mutex<FairSchedule<WorkOwner, Item>>
    private let waited: @Sendable (Double) -> Void
    /// The number of requests refused because too many requests of their user were waiting.
    let refusals = Atomic<Int>(0)

    /// Creates a pool; call ``start()`` before the first use.
    ///
    /// - Parameters:
    ///   - maximumOwnCount: The number of waiting requests of one user above which the pool refuses more.
    ///   - hasLowPriority: Whether the threads give way to those of other pools.
    ///   - waited: Receives how long work waited for a thread, in seconds.
    package init(
        threads count: Int, maximumOwnCount: Int, hasLowPriority: Bool = false,
        waited: @escaping @Sendable (Double) -> Void = { _ in }
    ) {
        self.waited = waited
        threadCount = count
        self.maximumOwnCount = maximumOwnCount
        self.hasLowPriority = hasLowPriority
        threads = NIOThreadPool(numberOfThreads: count)
        schedule = Mutex(FairSchedule(threads: count, share: max(1, count / 2)))
    }

    package func start() { threads.start() }

    /// Completes all queued work and ends the threads.
    package func shutdown() async throws { try await threads.shutdownGracefully() }

    /// The number of requests that wait for a thread.
    package var depth: Int { schedule.withLock { $0.waitingCount } }

    /// Runs work on a thread of the pool.
    ///
    /// Use this where the transport already bounds the number of waiting requests of a user.
    package func submit(for owner: WorkOwner, _ work: @escaping @Sendable () -> Void) {
        let item = Item(queuedAt: .now, work: work)
        schedule.withLock { $0.append(item, of: owner) }
        startNext()
    }

    /// Runs work on a thread of the pool, or refuses it if too much work of its owner is waiting.
    package func submit(
        for owner: WorkOwner, _ work: @escaping @Sendable () -> Void,
        refused: @escaping @Sendable (ChatError) -> Void
    ) {
        let item = Item(queuedAt: .now, work: work)
        let isAccepted = schedule.withLock { schedule in
            guard !owner.isLimited || schedule.waitingCount(of: owner) < maximumOwnCount else { return false }
            schedule.append(item, of: owner)
            return true
        }
        guard isAccepted else {
            refusals.wrappingAdd(1, ordering: .relaxed)
            return refused(
                ChatError(
                    .rateLimited,
                    "\(maximumOwnCount) of your requests are waiting. Wait for their answers before you send more.",
                    limit: maximumOwnCount, retryAfter: 1))
        }
        startNext()
    }

    private func startNext() {
        guard let (owner, item) = schedule.withLock({ $0.next() }) else { return }
        threads.submit { _ in self.run(item, of: owner) }
    }

    /// Runs an item and then, on the same thread, the items that follow it.
    private func run(_ item: Item, of owner: WorkOwner) {
        if hasLowPriority { lowerThreadPriority() }
        var next: (owner: WorkOwner, element: Item)? = (owner, item)
        while let (owner, item) = next {
            waited(Double((ContinuousClock.now - item.queuedAt) / .seconds(1)))
            item.work()
            next = schedule.withLock { schedule in
                schedule.finished(owner)
                return schedule.next()
            }
        }
    }
}

/// The pools of a server, one for each kind of work, so that no kind waits for the threads of another.
package struct ReaderPools: Sendable {
    private let pools: [WorkPool: ReaderPool]

    init(_ options: ServerOptions, _ metrics: ServerMetrics) {
        let maximumOwnCounts: [WorkPool: Int] = [.admission: 100, .read: 200, .search: 20, .file: 100]
        pools = Dictionary(
            uniqueKeysWithValues: maximumOwnCounts.map { pool, maximumOwnCount in
                let timer = metrics.readWaits[pool]
                return (
                    pool,
                    ReaderPool(
                        threads: options.threadCount(of: pool), maximumOwnCount: maximumOwnCount,
                        hasLowPriority: pool == .search || pool == .file
                    ) { timer?.recordSeconds($0) }
                )
            })
    }

    package subscript(pool: WorkPool) -> ReaderPool {
        guard let found = pools[pool] else { preconditionFailure("there is no pool \(pool)") }
        return found
    }

    package func start() { for pool in pools.values { pool.start() } }

    package func shutdown() async throws { for pool in pools.values { try await pool.shutdown() } }
}
