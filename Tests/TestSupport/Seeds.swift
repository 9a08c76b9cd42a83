import Foundation
package import ScrollbackModel
import Testing

/// The seeds of randomized tests. `SCROLLBACK_SEEDS` sets their number, and `SCROLLBACK_SEED` replays one seed.
package enum Seeds {
    /// The seed to replay, if any.
    package static let replayed = number(in: "SCROLLBACK_SEED")

    /// Returns the seeds of a test, or only the seed to replay.
    ///
    /// - Parameters:
    ///   - standard: The number of seeds if `SCROLLBACK_SEEDS` is not set.
    ///   - share: The divisor of the number of seeds, for a test whose seeds take long.
    ///   - most: The maximum number of seeds.
    package static func range(
        _ standard: UInt64 = 1_000, per share: UInt64 = 1, upTo most: UInt64 = .max
    ) -> ClosedRange<UInt64> {
        if let replayed { return replayed...replayed }
        return 1...max(1, min(most, (number(in: "SCROLLBACK_SEEDS") ?? standard) / share))
    }

    /// Runs the scenario of each seed, four at a time, and records the failures.
    ///
    /// A fault usually shows with many seeds, so the run stops after five failures.
    ///
    /// - Parameters:
    ///   - most: The maximum number of seeds.
    ///   - share: The divisor of the number of seeds, which is 1,000 by default.
    ///   - failure: Runs the scenario of a seed and returns a description of the failure, or `nil`.
    package static func each(
        upTo most: UInt64 = .max, per share: UInt64, _ failure: @escaping @Sendable (UInt64) async throws -> String?
    ) async throws {
        var left = range(per: share, upTo: most).makeIterator()
        var failures = 0
        try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<4 {
                if let seed = left.next() { group.addTask { try await failure(seed) } }
            }
            while let ended = try await group.next() {
                if let ended {
                    Issue.record("\(ended)")
                    failures += 1
                }
                if failures < 5, let seed = left.next() { group.addTask { try await failure(seed) } }
            }
        }
    }

    private static func number(in variable: String) -> UInt64? {
        ProcessInfo.processInfo.environment[variable].flatMap(UInt64.init)
    }
}

extension SplitMix64 {
    /// Creates a generator with the seed to replay, or with a random seed, and prints the seed.
    ///
    /// - Parameter purpose: The purpose of the random numbers, printed beside the seed.
    package init(printingSeedFor purpose: String) {
        let seed = Seeds.replayed ?? UInt64.random(in: 1...999_999)
        print("\(purpose): SCROLLBACK_SEED=\(seed)")
        self.init(seed: seed)
    }

    package mutating func milliseconds(_ range: ClosedRange<Int64>) -> Duration {
        .milliseconds(Int64.random(in: range, using: &self))
    }
}
