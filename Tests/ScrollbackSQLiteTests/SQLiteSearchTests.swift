import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import ScrollbackSearch
import Testing

@Suite struct SQLiteSearchTests {
    private let folder: TemporaryFolder
    private let store: SQLiteStore

    init() throws {
        folder = try TemporaryFolder()
        store = try SQLiteStore(directory: folder.url)
    }

    private func find(_ text: String, _ search: SQLiteSearch, in numbers: [Int64]) throws -> [SearchPlace] {
        let scopes = numbers.map { SearchScope(conversation: $0) }
        return try search.find(SearchTerms(text), in: scopes, sort: .newestFirst, after: nil, limit: 10_000)
            .matches.map(\.place)
    }

    /// Every message of the store that has the words, newest first.
    private func looked(_ text: String) throws -> [SearchPlace] {
        let terms = SearchTerms(text)
        return try store.read { reader in
            try (1...100 as ClosedRange<Int64>).flatMap { number -> [SearchPlace] in
                guard let row = try reader.conversation(numbered: number), row.head > 0 else { return [] }
                return try reader.messages(
                    in: number, 1...row.head, newestFirst: true, limit: .max, filter: .all, reader: "-"
                ).filter { terms.ranges(in: $0.content?.string(at: "text") ?? "") != nil }
                    .map { SearchPlace(time: $0.timetoken, conversation: number, seq: $0.seq) }
            }
        }.sorted(by: >)
    }

    private func fill(_ search: SQLiteSearch) throws {
        while try search.catchUp() {}
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `The index catches up with whatever the engine wrote, over several openings`(seed: UInt64) throws {
        var workload = try Workload(store, seed: seed)
        for round in 0..<4 {
            workload.run(steps: 400)
            let search = try SQLiteSearch(store)
            if round == 2 {
                // Half of a pass, and the rest the next time.
                _ = try search.catchUp()
            } else {
                try fill(search)
                let words = Set(try texts().flatMap { Words($0).body.map(Words($0).text) })
                #expect(!words.isEmpty)
                for word in words.prefix(20) {
                    #expect(try find(word, search, in: Array(1...100)) == looked(word), "\(word)")
                }
            }
            try search.close()
        }
    }

    private func texts() throws -> [String] {
        try store.read { reader in
            try (1...100 as ClosedRange<Int64>).flatMap { number in
                try reader.messages(
                    in: number, 1...10_000, newestFirst: true, limit: 50, filter: .all, reader: "-"
                ).compactMap { $0.content?.string(at: "text") }
            }
        }
    }

    @Test func `Edits, recalls and removals are told, and a damaged file is filled again`() throws {
        let engine = try Engine(store: store, execution: .inline)
        let admin = Caller(user: "admin", isAdmin: true)
        engine.putConversation(.group("a"), ConversationSettings(members: ["alice"]), by: admin) { _ = $0 }
        for number: UInt64 in 1...1200 {
            let submission = Submission(id: MessageID(high: 1, low: number), content: .text("hello \(number)"))
            engine.send(submission, to: .group("a"), by: Caller(user: "alice")) { _ = $0 }
        }
        let number = try #require(try store.read { try $0.conversation(.group("a"))?.number })
        let search = try SQLiteSearch(store)
        try fill(search)
        #expect(try find("hello", search, in: [number]).count == 1200)
        #expect(try find("hello", search, in: [number + 1]) == [])
        #expect(try search.progress(of: number)?.seq == 1200)

        var row = try #require(try store.read { try $0.message(at: 7, in: number) })
        row.content = RawJSON(known: #"{"text":"edited"}"#)
        try search.index([row], in: number)
        #expect(try find("edited", search, in: [number]).map(\.seq) == [7])
        row.content = nil
        try search.index([row], in: number)
        #expect(try find("edited", search, in: [number]) == [])
        while try search.remove(1...600, in: number) {}
        #expect(try find("hello", search, in: [number]).map(\.seq) == (601...1200).reversed())

        try search.close()
        try Data(repeating: 7, count: 10_000).write(to: folder.url.appending(path: SearchIndex.fileName))
        let again = try SQLiteSearch(store)
        try fill(again)
        let seqs = try find("hello", again, in: [number]).map(\.seq)
        #expect(seqs == (1...1200).reversed())
    }
}
