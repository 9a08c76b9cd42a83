package import Foundation

/// Exponential backoff with jitter.
///
/// The delay doubles after every failure. The jitter prevents many devices from retrying at the same time.
package struct Backoff: Hashable, Sendable {
    /// The upper bound of the first delay in seconds.
    package let base: TimeInterval
    /// The upper bound of all delays in seconds.
    package let cap: TimeInterval
    /// The number of consecutive failures.
    package private(set) var failures = 0

    package init(base: TimeInterval = 0.5, cap: TimeInterval = 30) {
        self.base = base
        self.cap = cap
    }

    /// Returns the delay after one more failure.
    ///
    /// The delay is random, between half and all of `base` doubled once for every previous failure.
    ///
    /// - Parameter spread: If set, the delay is random between 0 and this time. A server that restarts (close code
    ///   1012) requests it to spread the reconnects of its devices.
    package mutating func next(
        spreadOver spread: TimeInterval? = nil, using generator: inout some RandomNumberGenerator
    ) -> TimeInterval {
        failures += 1
        if let spread { return TimeInterval.random(in: 0...max(0, spread), using: &generator) }
        return wait(afterFailures: failures, using: &generator)
    }

    /// Returns the delay after a number of consecutive failures, 1 or more.
    package func wait(
        afterFailures failures: Int, using generator: inout some RandomNumberGenerator
    ) -> TimeInterval {
        // 2^32 exceeds any reasonable cap and keeps the power finite.
        let whole = min(cap, base * Double(UInt64(1) << UInt64(min(max(failures - 1, 0), 32))))
        return TimeInterval.random(in: whole / 2...whole, using: &generator)
    }

    /// Resets the failures after a success.
    package mutating func reset() {
        failures = 0
    }
}
