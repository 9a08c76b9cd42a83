package import Foundation

/// A token bucket for rate limiting, with a refill rate and a burst size.
package struct TokenBucket: Hashable, Sendable {
    package let perSecond: Double
    package let burst: Double
    private var tokens: Double
    /// The time of the last call; before it, the bucket was full.
    package private(set) var filledAt: Date?

    package init(perSecond: Double, burst: Double) {
        self.perSecond = perSecond
        self.burst = burst
        tokens = burst
    }

    /// Takes tokens and returns whether they were available; if not, none is taken.
    ///
    /// - Parameter count: The number of tokens. A number above `burst` takes a full bucket.
    package mutating func take(_ count: Double = 1, now: Date) -> Bool {
        // If the clock goes back, no tokens are added.
        let seconds = filledAt.map { max(0, now.timeIntervalSince($0)) } ?? 0
        tokens = min(burst, tokens + seconds * perSecond)
        filledAt = now
        let needed = min(count, burst)
        guard tokens >= needed else { return false }
        tokens -= needed
        return true
    }

    /// The delay in seconds from the last call until a token is available; 0 if one is available.
    package var wait: TimeInterval { wait(for: 1) }

    /// Returns the delay in seconds from the last call until tokens are available; 0 if they are available.
    ///
    /// The value is rounded up by at most a millisecond, so that a caller who waits exactly that long is not too early.
    package func wait(for count: Double) -> TimeInterval {
        let needed = min(count, burst)
        return tokens >= needed ? 0 : (((needed - tokens) / perSecond * 1000).rounded(.down) + 1) / 1000
    }

    /// Returns whether the bucket is full again at a time and can be discarded.
    package func isFull(at now: Date) -> Bool {
        filledAt.map { tokens + now.timeIntervalSince($0) * perSecond >= burst } ?? true
    }
}
