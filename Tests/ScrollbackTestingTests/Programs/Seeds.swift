import Foundation
import Testing

/// The seeds of random scenarios. `SCROLLBACK_SEEDS` sets their number, and `SCROLLBACK_SEED` replays one.
enum Seeds {
    /// Runs the scenario of each seed, four at a time, and records the failures.
    ///
    /// A fault usually shows with many seeds, so the run stops after five failures.
    ///
    /// - Parameters:
    /// - most: The maximum number of seeds.
    /// - share: The divisor of the requested number of seeds, which is 1,000 by default.
    /// - failure: Runs the scenario of a seed and returns a description of the failure, or `nil`.
    static func each(
        upTo most: UInt64, per share: UInt64, _ failure: @escaping @Sendable (UInt64) async throws -> String?
    ) async throws {
        let environment = ProcessInfo.processInfo.environment
        let seeds: ClosedRange<UInt64> =
            if let one = environment["SCROLLBACK_SEED"].flatMap(UInt64.init) {
                one...one
            } else {
                1...max(1, min(most, (environment["SCROLLBACK_SEEDS"].flatMap(UInt64.init) ?? 1_000) / share))
            }
        var left = seeds.makeIterator()
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
}
