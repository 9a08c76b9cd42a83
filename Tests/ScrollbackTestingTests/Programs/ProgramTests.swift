import Foundation
import Scrollback
import ScrollbackSQLite
import ScrollbackTesting
import Testing

/// The SDK and the server on SQLite, and the same group on paper, given the same random programs: the same answers, page for
/// page.
@Suite("Programs against a plain model")
struct ProgramTests {
    @Test("Random programs of changes and questions get the answers of the plain model, page for page")
    func programs() async throws {
        let environment = ProcessInfo.processInfo.environment
        let seeds: ClosedRange<UInt64> =
            if let one = environment["SCROLLBACK_SEED"].flatMap(UInt64.init) {
                one...one
            } else {
                // The long run's count is for searches of pure state; here each seed is a server and four devices.
                1...max(1, min(2_000, environment["SCROLLBACK_SEEDS"].flatMap(UInt64.init) ?? 200))
            }
        var next = seeds.lowerBound
        try await withThrowingTaskGroup { group in
            for _ in 0..<4 where next <= seeds.upperBound {
                group.addTask { [next] in try await Program.run(seed: next) }
                next += 1
            }
            while try await group.next() != nil {
                guard next <= seeds.upperBound else { continue }
                group.addTask { [next] in try await Program.run(seed: next) }
                next += 1
            }
        }
    }
}
