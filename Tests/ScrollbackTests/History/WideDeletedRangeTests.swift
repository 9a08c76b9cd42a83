import ContractRows
import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackSQLite
import ScrollbackTesting
import TestSupport
import Testing

/// Reads history across a wide range that an administrator deleted.
@Suite("Wide deleted ranges", .serialized)
struct WideDeletedRangeTests {
    private let group = ConversationID.group("swift")
    private let admin = Caller(user: "admin", isAdmin: true)
    /// The number of deleted messages. `SCROLLBACK_LONG` raises it to the 500,000 of the full run.
    private let count: Int64 = ProcessInfo.processInfo.environment["SCROLLBACK_LONG"] == nil ? 20_000 : 500_000

    /// The number of messages above the range. It is more than a connecting client receives, and fills three pages. Ten
    /// messages are below the range.
    private let above: Int64 = 300

    /// Writes many messages of Bob in one commit, without the cost of a send for each.
    private func fill(_ server: TestServer, _ count: Int64) async throws {
        try await server.perform { [group] engine, completion in
            engine.commits.submit(
                for: .server,
                { transaction in
                    guard var row = try transaction.conversation(group) else { return }
                    let json = MessageContent.text("filling").json
                    for _ in 0..<count {
                        row.head += 1
                        row.countedIndex += 1
                        row.timetoken = transaction.timetoken(after: row.timetoken)
                        try transaction.store.insert(
                            MessageRow(
                                seq: row.head, countedIndex: row.countedIndex, timetoken: row.timetoken,
                                id: MessageID(high: 0x7000, low: 0x8000_0000_0000_0000 | UInt64(row.head)),
                                sender: "bob", type: .text, content: json, attributes: .init(), digest: 0),
                            in: row.number)
                    }
                    try transaction.put(row)
                }, completion: completion)
        } as Void
    }

    @Test("Reading across a deleted range of 500,000 messages takes one request, and counts stay exact", .history(6))
    func wideDeletedRangeInMemory() async throws {
        try await readAcross(TestServer())
    }

    @Test("Reading across a wide deleted range in SQLite costs as much as any other page", .history(6))
    func wideDeletedRangeInSQLite() async throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(directory: folder.url)
        let server = try TestServer(store: store)
        try await readAcross(server) {
            func steps(_ place: Int64) throws -> Int {
                let before = store.steps
                let query = HistoryQuery(.before(.seq(place)), limit: 10)
                #expect(try server.engine.history(of: group, query, by: Caller(user: "alice")).messages.count == 10)
                return store.steps - before
            }
            _ = try steps(count + 21)
            #expect(try steps(count + 11) <= steps(count + 21) + 100)
        }
        #expect(try store.verify { _ in } == [])
    }

    /// - Parameter look: Inspects the log after the deletion, before any client reads it.
    private func readAcross(_ server: TestServer, _ look: () throws -> Void = {}) async throws {
        try await server.makeGroup("swift", members: ["alice", "bob"])
        try await fill(server, 10 + count + above)
        let deleted = try await server.perform {
            $0.delete(DeleteRange(from: .seq(11), to: .seq(count + 11)), of: group, by: admin, completion: $1)
        }
        #expect(deleted == count)
        try look()
        let newest = Array(count + 11...count + 10 + above)
        let oldest = Array(1...10 as ClosedRange<Int64>)
        try await readPages(server, newest, oldest)

        // The sweep has removed some of the deleted rows.
        try await server.perform { [group] engine, completion in
            engine.commits.submit(for: .server, { _ = try $0.sweep(group, limit: 100) }, completion: completion)
        }
        try look()
        try await readPages(server, newest, oldest)
        await server.close()
    }

    private func readPages(_ server: TestServer, _ newest: [Int64], _ oldest: [Int64]) async throws {
        // Reads next to the range on both sides, and in its middle, where both sides are needed.
        let middle = count / 2
        for (anchor, requests, seqs) in [
            (Anchor.before(.seq(count + 11)), 1, oldest.reversed()), (.after(.seq(10)), 1, newest[..<10].reversed()),
            (.before(.seq(middle)), 1, oldest.reversed()), (.after(.seq(middle)), 1, newest[..<10].reversed()),
            (.around(.seq(middle), before: 5, after: 5), 3, newest[..<5].reversed() + oldest[5...].reversed()),
        ] as [(Anchor, Int, [Int64])] {
            let phone = try await server.client("alice")
            let chat = phone.conversation(group)
            #expect(try await eventually { try await chat.recent()?.unread == 10 + above })
            let before = server.historyRequests(of: "alice")
            let page = try await chat.history(anchor, limit: 10)
            #expect(page.messages.map(\.seq) == seqs, "\(anchor)")
            #expect(page.gap == nil && page.remoteError == nil, "\(anchor)")
            #expect(server.historyRequests(of: "alice") - before == requests, "\(anchor)")
            // The client has stored the deleted range.
            #expect(try await chat.history(anchor, limit: 10, from: .local).messages.map(\.seq) == seqs, "\(anchor)")
            #expect(try await phone.verifyIntegrity() == [])
            await phone.close()
        }

        // Reads the whole log in both directions. Only existing messages cause requests.
        for anchor in [Anchor.latest, .earliest] {
            let phone = try await server.client("alice")
            let chat = phone.conversation(group)
            #expect(try await eventually { try await chat.recent() != nil })
            let before = server.historyRequests(of: "alice")
            var seqs: [Int64] = []
            for try await message in chat.messages(from: anchor) { seqs.append(message.seq) }
            #expect(seqs == (anchor == .earliest ? oldest + newest : newest.reversed() + oldest.reversed()))
            #expect(server.historyRequests(of: "alice") - before <= 5)
            #expect(try await chat.recent()?.unread == 10 + above)
            #expect(try await phone.verifyIntegrity() == [])
            await phone.close()
        }
    }
}
