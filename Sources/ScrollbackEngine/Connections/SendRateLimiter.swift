package import Foundation
package import ScrollbackModel
import Synchronization

/// The rate limit for sending, editing and reacting: a token bucket per user.
///
/// Administrators are exempt.
package final class SendRateLimiter: Sendable {
    package let perSecond: Double
    package let burst: Double
    private let buckets = Mutex(Buckets<UserID, TokenBucket>(pruningThreshold: 100_000))

    package init(perSecond: Double = 20, burst: Double = 40) {
        self.perSecond = perSecond
        self.burst = burst
    }

    /// Takes a token for one message, edit or action from a user's bucket.
    ///
    /// - Returns: A `rate-limited` error with the time to wait, if the bucket is empty.
    package func take(_ caller: Caller, now: Date) -> ChatError? {
        if caller.isAdmin { return nil }
        return buckets.withLock { buckets in
            buckets.change(caller.user, default: TokenBucket(perSecond: perSecond, burst: burst), now: now) { bucket in
                guard !bucket.take(now: now) else { return nil }
                return ChatError(
                    .rateLimited, "You can send at most \(Int(perSecond)) messages, edits and actions per second.",
                    limit: Int(perSecond), retryAfter: bucket.wait)
            }
        }
    }
}
