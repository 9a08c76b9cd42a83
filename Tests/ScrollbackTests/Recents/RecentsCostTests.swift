import ContractRows
import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import ScrollbackWire
import TestSupport
import Testing

@Suite("Cost of the recents list", .timeLimit(.minutes(10)))
struct RecentsCostTests {
    /// The entries of a filtered page, and the steps of SQLite's virtual machine that reading it took.
    private struct Cost {
        var steps: Int
        var shown: [Seq?]
    }

    /// Reads a page of five entries that skips notices, on a device that has stored all messages.
    ///
    /// - Parameters:
    ///   - conversations: The number of groups.
    ///   - texts: The number of text messages of each group.
    ///   - notices: The number of notices after them, which the filter skips.
    private func page(_ conversations: Int, texts: Int, notices: Int) async throws -> Cost {
        let server = try TestServer()
        let groups = (1...conversations).map { ConversationID.group(Identifier(known: "g\($0)")) }
        for group in groups {
            try await server.makeGroup(group.target, members: ["alice", "bob"])
            for number in 1...texts + notices {
                let notice = try MessageContent(type: .notice, json: RawJSON(known: #"{"text":"n"}"#))
                let content = number > texts ? notice : MessageContent.text("\(number)")
                try await server.perform {
                    $0.send(
                        Submission(id: MessageID(UUID()), content: content), to: group, by: Caller(user: "alice"),
                        completion: $1)
                }
            }
        }
        let bob = try await server.client("bob")
        try await bob.recents.prefetch()
        let cost = try await bob.core.store.read { reader in
            let filter = RecentsFilter(excludedLastTypes: [.notice])
            // The first time compiles the statements.
            _ = try reader.recents(limit: 5, matching: filter)
            let before = reader.steps
            let page = try reader.recents(limit: 5, matching: filter)
            return Cost(steps: reader.steps - before, shown: page.map { $0.lastMessage?.seq })
        }
        await server.close()
        return cost
    }

    @Test(
        "A filtered page reads only its entries and the messages it skips, however long list and history are",
        .rows(190))
    func filteredPage() async throws {
        let few = try await page(6, texts: 6, notices: 4)
        let many = try await page(60, texts: 60, notices: 4)
        #expect(few.shown == Array(repeating: 6, count: 5) && many.shown == Array(repeating: 60, count: 5))
        #expect(few.steps > 0)
        // Ten times as many conversations with ten times as many messages. A binary search adds a few steps.
        #expect(many.steps <= few.steps * 5 / 4, "\(few.steps) steps, then \(many.steps)")
        let skipped = try await page(6, texts: 6, notices: 40)
        #expect(skipped.shown == few.shown)
        #expect(skipped.steps <= few.steps * 10, "\(few.steps) steps for 4 skipped messages, \(skipped.steps) for 40")
    }
}
