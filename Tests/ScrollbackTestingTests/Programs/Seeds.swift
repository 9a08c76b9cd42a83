import Foundation
import Testing

/// The seeds of random programs: `SCROLLBACK_SEEDS` says how many, `SCROLLBACK_SEED` replays one.
enum Seeds {
    /// Runs the program of each seed, four at a time, and records what was wrong.
    ///
    /// Where it is wrong it is wrong often, and a few tell as much as all: it ends with the fifth.
    ///
    /// - Parameters:
    ///   - most: how many there are at most.
    ///   - share: one program is run for so many of the seeds that are asked for, which are a thousand by default.
    ///   - failure: runs one, and says what was wrong with it.
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
