import ContractRows
import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackTesting
import Testing

/// Tests messages whose times are equal to the millisecond.
@Suite("Equal times")
struct EqualTimesTests {
    private let group = ConversationID.group("swift")
    private let millisecond = Date(timeIntervalSince1970: 1_700_000_000.125)

    /// Creates a group with one message for each offset, in milliseconds after a fixed time.
    private func server(_ offsets: [Int]) async throws -> (server: TestServer, alice: ChatClient, chat: Conversation) {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice"])
        let messages = offsets.enumerated().map { index, offset in
            ImportedMessage(
                sender: "alice", sentAt: millisecond.addingTimeInterval(Double(offset) / 1000),
                submission: Submission(id: MessageID(UUID()), content: .text("\(index + 1)")))
        }
        let report = try await server.perform {
            $0.importHistory(messages, into: group, by: Caller(user: "admin", isAdmin: true), completion: $1)
        }
        #expect(report.imported == offsets.count)
        let alice = try await server.client("alice")
        return (server, alice, alice.conversation(group))
    }

    /// The sequence numbers of all pages, in the order of the pages.
    private func pages(
        _ chat: Conversation, older isOlder: Bool, by limit: Int, _ source: HistorySource
    ) async throws -> [Int64] {
        var seqs: [Int64] = []
        var next: Anchor? = isOlder ? .latest : .earliest
        while let anchor = next {
            let page = try await chat.history(
                anchor, limit: limit, sort: isOlder ? .newestFirst : .oldestFirst, from: source)
            #expect(page.messages.count <= limit, "A page has at most `limit` messages.")
            seqs += page.messages.map(\.seq)
            next = isOlder ? page.older : page.newer
        }
        return seqs
    }

    @Test("Two pages of size two return each of three messages with equal times once", .contract("check 1"), .rows(171))
    func threeMessagesWithEqualTimes() async throws {
        let (server, alice, chat) = try await server([0, 0, 0])
        for source in [HistorySource.remote, .merged, .local] {
            let first = try await chat.history(.latest, limit: 2, from: source)
            #expect(first.messages.map(\.seq) == [3, 2], "\(source)")
            #expect(Set(first.messages.map(\.sentAt)) == [millisecond])
            let second = try await chat.history(try #require(first.older), limit: 2, from: source)
            #expect(second.messages.map(\.seq) == [1], "\(source)")
            #expect(second.older == nil)
            let pager = chat.pager(limit: 2, source: source)
            #expect(try await pager.next().map(\.seq) == [2, 3])
            #expect(try await pager.next().map(\.seq) == [1])
            #expect(!pager.hasNext)
            let newer = try await chat.history(.earliest, limit: 2, sort: .oldestFirst, from: source)
            #expect(newer.messages.map(\.seq) == [1, 2], "\(source)")
            let last = try await chat.history(
                try #require(newer.newer), limit: 2, sort: .oldestFirst, from: source)
            #expect(last.messages.map(\.seq) == [3], "\(source)")
        }
        #expect(try await alice.verifyIntegrity() == [])
        await server.close()
    }

    @Test(
        "Messages with equal times are complete and in order for every page size, direction and source",
        .contract("check 1"),
        .rows(171))
    func everyPageSize() async throws {
        let (server, _, chat) = try await server([-7, -1, 0, 0, 0, 0, 0, 1, 1, 900])
        for limit in 1...7 {
            for source in [HistorySource.remote, .merged, .local] {
                let older = try await pages(chat, older: true, by: limit, source)
                #expect(older == (1...10).reversed(), "\(limit) \(source)")
                let newer = try await pages(chat, older: false, by: limit, source)
                #expect(newer == Array(1...10), "\(limit) \(source)")
            }
        }
        await server.close()
    }

    @Test("A date anchor covers its whole millisecond and excludes the messages in it", .rows(171))
    func dates() async throws {
        let (server, _, chat) = try await server([-1, 0, 0, 0, 1])
        _ = try await chat.history(.earliest, limit: 10, from: .remote)
        for source in [HistorySource.remote, .merged, .local] {
            for (anchor, seqs) in [
                (Anchor.before(.date(millisecond)), [1]), (.after(.date(millisecond)), [5]),
                (.before(.date(millisecond.addingTimeInterval(0.001))), [4, 3, 2, 1]),
                (.after(.date(millisecond.addingTimeInterval(-0.001))), [5, 4, 3, 2]),
            ] as [(Anchor, [Int64])] {
                let page = try await chat.history(anchor, limit: 10, from: source)
                #expect(page.messages.map(\.seq) == seqs, "\(anchor) \(source)")
            }
        }
        await server.close()
    }
}
