import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackTesting
import Testing

/// Unread counts, recounted: whatever happens in whatever order, after quiet every device shows what a plain count of the
/// messages says.
@Suite("Unread counts, recounted")
struct RecountTests {
    private static let seeds: ClosedRange<UInt64> = {
        let environment = ProcessInfo.processInfo.environment
        if let one = environment["SCROLLBACK_SEED"].flatMap(UInt64.init) { return one...one }
        return 1...max(1, min(5_000, (environment["SCROLLBACK_SEEDS"].flatMap(UInt64.init) ?? 1_000) / 2))
    }()

    @Test("After quiet, three devices count and total what the paper says, and show the same list")
    func recounted() async throws {
        var next = Self.seeds.lowerBound
        // Where it is wrong it is wrong often, and a few tell as much as all.
        var failures = 0
        try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<4 where next <= Self.seeds.upperBound {
                group.addTask { [next] in try await Self.failure(of: next) }
                next += 1
            }
            while let failure = try await group.next() {
                if let failure {
                    Issue.record("\(failure)")
                    failures += 1
                }
                guard next <= Self.seeds.upperBound, failures < 5 else { continue }
                group.addTask { [next] in try await Self.failure(of: next) }
                next += 1
            }
        }
    }

    private static func failure(of seed: UInt64) async throws -> String? {
        var recount = try await Recount(seed: seed)
        var violations: [String] = []
        do {
            for _ in 0..<40 { try await recount.step() }
            violations = try await recount.violations()
        } catch {
            violations = ["threw \(error)"]
        }
        await recount.world.close()
        guard !violations.isEmpty else { return nil }
        return """
            \(violations.joined(separator: "\n"))
            replay with SCROLLBACK_SEED=\(seed) swift test --filter RecountTests
            \(recount.steps.joined(separator: "\n"))
            """
    }
}

extension ChatClient {
    /// How a device came to its counts, for whoever looks for the fault.
    func counts(of id: ConversationID) async throws -> String {
        try await core.store.read { reader in
            "\(String(describing: try reader.readState(of: id)))\n\(String(describing: try reader.log(of: id)))"
        }
    }
}
