package import Foundation
package import ScrollbackModel
import Synchronization

/// How much one user may send: a bucket each, filled at a rate, holding a burst.
///
/// Administrators are exempt.
package final class SendAllowance: Sendable {
    package let perSecond: Double
    package let burst: Double
    private let buckets = Mutex<[UserID: TokenBucket]>([:])

    /// The most users whose buckets are kept; beyond, those that are full again are forgotten.
    private static let maximumBuckets = 100_000

    package init(perSecond: Double = 20, burst: Double = 40) {
        self.perSecond = perSecond
        self.burst = burst
    }

    /// Takes one message from a user's bucket.
    ///
    /// - Returns: `rate-limited` with the time to wait, when the bucket is empty.
    package func take(_ caller: Caller, now: Date) -> ChatError? {
        if caller.isAdmin { return nil }
        return buckets.withLock { buckets in
            if buckets.count > Self.maximumBuckets { buckets = buckets.filter { !$0.value.isFull(at: now) } }
            var bucket = buckets[caller.user] ?? TokenBucket(perSecond: perSecond, burst: burst)
            defer { buckets[caller.user] = bucket }
            guard !bucket.take(now: now) else { return nil }
            return ChatError(
                .rateLimited, "more than \(Int(perSecond)) messages a second", limit: Int(perSecond),
                retryAfter: bucket.wait)
        }
    }
}
