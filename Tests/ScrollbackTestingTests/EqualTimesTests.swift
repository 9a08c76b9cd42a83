import ContractRows
import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackTesting
import Testing

/// Messages that were said at the same time, to the millisecond.
@Suite("Equal times")
struct EqualTimesTests {
    private let group = ConversationID.group("swift")
    private let millisecond = Date(timeIntervalSince1970: 1_700_000_000.125)

    /// A group of alice's where messages were said so many milliseconds after one moment.
    private func world(_ offsets: [Int]) async throws -> (world: ChatWorld, alice: ChatClient, chat: Conversation) {
        let world = try ChatWorld()
        try await world.makeGroup("swift", members: ["alice"])
        let messages = offsets.enumerated().map { index, offset in
            ImportedMessage(
                sender: "alice", sentAt: millisecond.addingTimeInterval(Double(offset) / 1000),
                submission: Submission(id: MessageID(UUID()), content: .text("\(index + 1)")))
        }
        let report = try await world.perform {
            $0.importHistory(messages, into: group, by: Caller(user: "admin", isAdmin: true), completion: $1)
        }
        #expect(report.imported == offsets.count)
        let alice = try await world.client("alice")
        return (world, alice, alice.conversation(group))
    }

    /// What all pages have, page after page, each as it goes.
    private func pages(
        _ chat: Conversation, older isOlder: Bool, by limit: Int, _ source: HistorySource
    ) async throws -> [Int64] {
        var seqs: [Int64] = []
        var next: Anchor? = isOlder ? .latest : .earliest
        while let anchor = next {
            let page = try await chat.history(
                anchor, limit: limit, sort: isOlder ? .newestFirst : .oldestFirst, from: source)
            #expect(page.messages.count <= limit, "never more than was asked for")
            seqs += page.messages.map(\.seq)
            next = isOlder ? page.older : page.newer
        }
        return seqs
    }

    @Test("Check 1: of three messages at one millisecond, two a page, all three come, once each", .rows(171))
    func threeAtOnce() async throws {
        let (world, alice, chat) = try await world([0, 0, 0])
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
        await world.close()
    }

    @Test(
        "Check 1: groups of equal times come whole and in order, whatever the page size, the way and the source",
        .rows(171))
    func everyPageSize() async throws {
        let (world, _, chat) = try await world([-7, -1, 0, 0, 0, 0, 0, 1, 1, 900])
        for limit in 1...7 {
            for source in [HistorySource.remote, .merged, .local] {
                let older = try await pages(chat, older: true, by: limit, source)
                #expect(older == (1...10).reversed(), "\(limit) \(source)")
                let newer = try await pages(chat, older: false, by: limit, source)
                #expect(newer == Array(1...10), "\(limit) \(source)")
            }
        }
        await world.close()
    }

    @Test("A date stands for its whole millisecond: what was said in it is neither before nor after it", .rows(171))
    func dates() async throws {
        let (world, _, chat) = try await world([-1, 0, 0, 0, 1])
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
        await world.close()
    }
}
