package import Foundation
package import ScrollbackModel
import Synchronization

/// How much one user may send, edit and attach: a bucket each, filled at a rate, holding a burst.
///
/// Administrators are exempt.
package final class SendAllowance: Sendable {
    package let perSecond: Double
    package let burst: Double
    private let buckets = Mutex(Buckets<UserID, TokenBucket>(most: 100_000))

    package init(perSecond: Double = 20, burst: Double = 40) {
        self.perSecond = perSecond
        self.burst = burst
    }

    /// Takes one message, one edit or one action from a user's bucket.
    ///
    /// - Returns: `rate-limited` with the time to wait, when the bucket is empty.
    package func take(_ caller: Caller, now: Date) -> ChatError? {
        if caller.isAdmin { return nil }
        return buckets.withLock { buckets in
            buckets.change(caller.user, orNew: TokenBucket(perSecond: perSecond, burst: burst), now: now) { bucket in
                guard !bucket.take(now: now) else { return nil }
                return ChatError(
                    .rateLimited, "more than \(Int(perSecond)) messages, edits and actions a second",
                    limit: Int(perSecond), retryAfter: bucket.wait)
            }
        }
    }
}
