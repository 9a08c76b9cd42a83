import Foundation
import ScrollbackModel
import ScrollbackSearch
import Synchronization
import TextAnalysis
import Testing

@Suite("Deadlines of searches")
struct SearchDeadlineTests {
    private func index(_ count: Int64) throws -> SearchIndex {
        let index = try SearchIndex(directory: nil)
        try index.write { writer in
            let rows = (1...count).map { seq in
                SearchRow(seq: seq, time: Timetoken(rawValue: UInt64(seq)), text: "tide \(seq)")
            }
            try writer.put(rows, in: 1)
        }
        return index
    }

    /// A deadline that the given number of checks does not reach.
    private func deadline(afterChecks count: Int) -> WorkDeadline {
        let checks = Counter()
        // The first reading is the start.
        return WorkDeadline(after: .seconds(1)) { checks.next() > count + 1 ? .seconds(2) : .zero }
    }

    private final class Counter: Sendable {
        private let count = Mutex(0)

        func next() -> Int {
            count.withLock { count in
                count += 1
                return count
            }
        }
    }

    @Test("A statement that runs past the deadline is interrupted")
    func statement() throws {
        let index = try index(20_000)
        let scope = SearchScope(conversation: 1)
        #expect(try index.read { try $0.lowest(ofNewest: 20_000, in: scope) } == 1)
        let error = #expect(throws: ChatError.self) {
            try index.read(until: deadline(afterChecks: 0)) { try $0.lowest(ofNewest: 20_000, in: scope) }
        }
        #expect(error?.code == .overloaded && error?.retryAfter != nil)
        // The connection works again without the deadline.
        #expect(try index.read { try $0.lowest(ofNewest: 20_000, in: scope) } == 1)
    }

    @Test("A search of many short statements stops between them", arguments: [SearchSort.newestFirst, .bestFirst])
    func loops(_ sort: SearchSort) throws {
        let index = try index(100)
        let terms = SearchTerms("tide")
        let scopes = (1...20).map { SearchScope(conversation: $0) }
        func find(_ checks: Int) throws -> Int {
            try index.read(until: deadline(afterChecks: checks)) {
                try $0.find(
                    terms, in: sort == .bestFirst ? [scopes[0]] : Array(scopes.prefix(3)), sort: sort, limit: 10)
            }.matches.count
        }
        #expect(try find(1_000) == 10)
        #expect(throws: ChatError.self) { try find(1) }
    }
}
