package import Foundation
import ScrollbackModel
import Synchronization

/// The rate at which the server receives one user's uploads.
///
/// A client that sends faster must wait, because the server reads no more of its bytes for a while. Otherwise, one user
/// could use the whole bandwidth of the disk, and the writes of all messages would wait for it.
package final class UploadPace: Sendable {
    /// The bytes a second of a server without settings.
    package static let standardRate = 32 << 20

    /// No bound.
    package static let unlimited = UploadPace(rate: nil)

    /// The number of bytes after which a user waits at the earliest.
    ///
    /// No received part is larger.
    private static let minimumBurst = 1 << 20

    private let rate: Double?
    private let sleep: @Sendable (TimeInterval) async -> Void
    private let buckets = Mutex(Buckets<WorkOwner, TokenBucket>(pruningThreshold: 10_000))
    private let waitCount = Atomic<Int>(0)

    /// Creates the bound.
    ///
    /// - Parameters:
    ///   - rate: Bytes a second, or `nil` for no bound.
    ///   - sleep: Returns after a number of seconds, or when the task is cancelled.
    package init(
        rate: Int?,
        sleep: @escaping @Sendable (TimeInterval) async -> Void = { try? await Task.sleep(for: .seconds($0)) }
    ) {
        self.rate = rate.map(Double.init)
        self.sleep = sleep
    }

    /// The number of received parts of uploads after which a user had to wait, since the start.
    package var waits: Int { waitCount.load(ordering: .relaxed) }

    /// Counts received bytes of a user, and returns when the next bytes may follow.
    func wait(for bytes: Int, of owner: WorkOwner, clock: @Sendable () -> Date) async {
        guard let rate else { return }
        let new = TokenBucket(perSecond: rate, burst: max(rate, Double(Self.minimumBurst)))
        var hasWaited = false
        while true {
            let now = clock()
            let wait: TimeInterval = buckets.withLock { buckets in
                buckets.change(owner, default: new, now: now) { bucket in
                    bucket.take(Double(bytes), now: now) ? 0 : bucket.wait(for: Double(bytes))
                }
            }
            guard wait > 0, !Task.isCancelled else { return }
            if !hasWaited { waitCount.wrappingAdd(1, ordering: .relaxed) }
            hasWaited = true
            await sleep(wait)
        }
    }
}
