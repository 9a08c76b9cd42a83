import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackTesting
import Testing

/// Unread counts, recounted: whatever happens in whatever order, after quiet every device shows what a plain count of the
/// messages says.
@Suite("Unread counts, recounted")
struct RecountTests {
    @Test("After quiet, three devices count and total what the paper says, and show the same list")
    func recounted() async throws {
        try await Seeds.each(upTo: 5_000, per: 2, Self.failure)
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
