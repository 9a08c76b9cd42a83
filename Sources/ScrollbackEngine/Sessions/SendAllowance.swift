package import Foundation
package import ScrollbackModel
import Synchronization

/// How much one user may send: a bucket each, filled at a rate, holding a burst.
///
/// Administrators are exempt.
package final class SendAllowance: Sendable {
    package let perSecond: Double
    package let burst: Double
    private let buckets = Mutex<[UserID: Bucket]>([:])

    private struct Bucket {
        var tokens: Double
        var filledAt: Date
    }

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
            if buckets.count > Self.maximumBuckets {
                buckets = buckets.filter { now.timeIntervalSince($0.value.filledAt) * perSecond < burst }
            }
            var bucket = buckets[caller.user] ?? Bucket(tokens: burst, filledAt: now)
            bucket.tokens = min(burst, bucket.tokens + max(0, now.timeIntervalSince(bucket.filledAt)) * perSecond)
            bucket.filledAt = now
            defer { buckets[caller.user] = bucket }
            guard bucket.tokens >= 1 else {
                // Up to a millisecond longer than needed, so that whoever waits exactly that long is not early by a rounding.
                let wait = ((1 - bucket.tokens) / perSecond * 1000).rounded(.down) + 1
                return ChatError(
                    .rateLimited, "more than \(Int(perSecond)) messages a second", limit: Int(perSecond),
                    retryAfter: wait / 1000)
            }
            bucket.tokens -= 1
            return nil
        }
    }
}
