import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackTesting
import TestSupport
import Testing

/// Compares unread counts with a plain count of the messages, after random events in random order.
@Suite("Recounted unread counts")
struct UnreadCountScenarioTests {
    @Test("After activity stops, three clients show the model's counts and totals, and the same list")
    func countsMatchTheModel() async throws {
        try await Seeds.each(upTo: 5_000, per: 4, Self.failure)
    }

    private static func failure(of seed: UInt64) async throws -> String? {
        var recount = try await UnreadCountScenario(seed: seed)
        var violations: [String] = []
        do {
            for _ in 0..<40 { try await recount.step() }
            violations = try await recount.violations()
        } catch {
            violations = ["threw \(error)"]
        }
        await recount.server.close()
        guard !violations.isEmpty else { return nil }
        return """
            \(violations.joined(separator: "\n"))
            replay with SCROLLBACK_SEED=\(seed) swift test --filter UnreadCountScenarioTests
            \(recount.steps.joined(separator: "\n"))
            """
    }
}

extension ChatClient {
    /// The state from which a client computes its counts, for debugging.
    func counts(of id: ConversationID) async throws -> String {
        try await core.store.read { reader in
            "\(String(describing: try reader.readState(of: id)))\n\(String(describing: try reader.log(of: id)))"
        }
    }
}
