package import Foundation

/// How long to wait before trying again: twice as long after every failure, with jitter, so that many devices never
/// come back together.
package struct Backoff: Hashable, Sendable {
    /// The longest first wait, in seconds.
    package let base: TimeInterval
    /// The longest wait of all, in seconds.
    package let cap: TimeInterval
    /// Failures in a row.
    package private(set) var failures = 0

    package init(base: TimeInterval = 0.5, cap: TimeInterval = 30) {
        self.base = base
        self.cap = cap
    }

    /// The wait after one more failure: half to all of `base` doubled once for every failure before it.
    ///
    /// - Parameter spread: a server that restarts (1012) asks for a random wait: all its devices spread over this time.
    package mutating func next(
        spreadOver spread: TimeInterval? = nil, using generator: inout some RandomNumberGenerator
    ) -> TimeInterval {
        failures += 1
        if let spread { return TimeInterval.random(in: 0...max(0, spread), using: &generator) }
        return wait(afterFailures: failures, using: &generator)
    }

    /// The wait after a number of failures in a row, 1 or more.
    package func wait(
        afterFailures failures: Int, using generator: inout some RandomNumberGenerator
    ) -> TimeInterval {
        // 2^32 is above any cap that makes sense, and keeps the power finite.
        let whole = min(cap, base * Double(UInt64(1) << UInt64(min(max(failures - 1, 0), 32))))
        return TimeInterval.random(in: whole / 2...whole, using: &generator)
    }

    /// Something succeeded.
    package mutating func reset() {
        failures = 0
    }
}
