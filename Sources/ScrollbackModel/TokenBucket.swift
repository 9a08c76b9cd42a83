package import Foundation

/// A measure of how much may be done: filled at a rate, holding a burst, emptied one by one.
package struct TokenBucket: Hashable, Sendable {
    package let perSecond: Double
    package let burst: Double
    private var tokens: Double
    /// When it was last looked at: before that it was full.
    package private(set) var filledAt: Date?

    package init(perSecond: Double, burst: Double) {
        self.perSecond = perSecond
        self.burst = burst
        tokens = burst
    }

    /// Takes one, if there is one.
    package mutating func take(now: Date) -> Bool {
        // A clock that goes back fills nothing.
        let seconds = filledAt.map { max(0, now.timeIntervalSince($0)) } ?? 0
        tokens = min(burst, tokens + seconds * perSecond)
        filledAt = now
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }

    /// How long from when it was last looked at until there is one, in seconds: 0 where there is.
    ///
    /// Up to a millisecond longer than needed, so that whoever waits exactly that long is not early by a rounding.
    package var wait: TimeInterval {
        tokens >= 1 ? 0 : (((1 - tokens) / perSecond * 1000).rounded(.down) + 1) / 1000
    }

    /// Whether it will have filled up by a time, and so needs no remembering.
    package func isFull(at now: Date) -> Bool {
        filledAt.map { tokens + now.timeIntervalSince($0) * perSecond >= burst } ?? true
    }
}
