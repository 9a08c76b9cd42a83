import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import ScrollbackSearch
import TextAnalysis
import TestSupport
import Testing

@Suite struct SQLiteSearchTests {
    private let folder: TemporaryFolder
    private let store: SQLiteStore
    /// A busy machine must not stop searches.
    private let time = SearchTime(limit: .seconds(3_600))

    init() throws {
        folder = try TemporaryFolder()
        store = try SQLiteStore(directory: folder.url)
    }

    private func find(_ text: String, _ search: SQLiteSearch, in numbers: [Int64]) throws -> [IndexPosition] {
        let scopes = numbers.map { SearchScope(conversation: $0) }
        let found = try store.read {
            try search.find(
                SearchTerms(text), in: scopes, sort: .newestFirst, after: nil, limit: 10_000, $0,
                until: WorkDeadline(after: .seconds(600)) { .zero })
        }
        return try #require(found).matches.map(\.place)
    }

    /// Returns every message in the store that matches a query, newest first.
    private func scanned(_ text: String) throws -> [IndexPosition] {
        let terms = SearchTerms(text)
        return try store.read { reader in
            try (1...100 as ClosedRange<Int64>).flatMap { number -> [IndexPosition] in
                guard let row = try reader.conversation(numbered: number), row.head > 0 else { return [] }
                return try reader.messages(
                    in: number, 1...row.head, newestFirst: true, limit: .max, filter: .all, reader: "-"
                ).filter { terms.ranges(in: $0.content?.string(at: "text") ?? "") != nil }
                    .map { IndexPosition(time: $0.timetoken, conversation: number, seq: $0.seq) }
            }
        }.sorted(by: >)
    }

    private func newestFirst(_ places: [SeqRange]) -> [Seq] { places.flatMap(Array.init).reversed() }

    private func fill(_ search: SQLiteSearch) throws {
        while try search.catchUp() {}
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `The index catches up with the engine's writes across several reopenings`(seed: UInt64) throws {
        var workload = try Workload(store, seed: seed)
        for round in 0..<4 {
            workload.run(steps: 400)
            let search = try SQLiteSearch(store)
            if round == 2 {
                // One step of the pass now, and the rest after reopening.
                _ = try search.catchUp()
            } else {
                try fill(search)
                let words = Set(try texts().flatMap { TokenizedText($0).tokens.map(TokenizedText($0).text) })
                #expect(!words.isEmpty)
                for word in words.prefix(20) {
                    #expect(try find(word, search, in: Array(1...100)) == scanned(word), "\(word)")
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

    // MARK: The change log

    private let admin = Caller(user: "admin", isAdmin: true)
    private let group = ConversationID.group("a")

    /// Returns an engine with a group that has the messages `hello 1` to `hello N`.
    private func engine(_ count: UInt64, _ index: any MessageIndex = ScanningIndex()) throws -> Engine {
        let engine = try Engine(store: store, index: index, execution: .inline, searchTime: time)
        engine.putConversation(group, ConversationSettings(members: ["alice"]), by: admin) { _ = $0 }
        if count > 0 { for number in 1...count { sendMessage("hello \(number)", number, engine) } }
        return engine
    }

    private func sendMessage(_ text: String, _ number: UInt64, _ engine: Engine) {
        let submission = Submission(id: id(number), content: .text(text))
        engine.send(submission, to: group, by: Caller(user: "alice")) { _ = $0 }
    }

    private func id(_ number: UInt64) -> MessageID { MessageID(high: 1, low: number) }
    private var number: Int64 { get throws { try #require(try store.read { try $0.conversation(group)?.number }) } }

    private func change(_ engine: Engine) {
        engine.edit(id(7), in: group, MessageEdit(.text("edited")), by: Caller(user: "alice")) { _ = $0 }
        engine.edit(id(8), in: group, MessageEdit(.text("edited too")), by: Caller(user: "alice")) { _ = $0 }
        engine.delete(id(8), in: group, by: Caller(user: "alice")) { _ = $0 }
        engine.delete(DeleteRange(from: .seq(100), to: .seq(900)), of: group, by: admin) { _ = $0 }
    }

    @Test func `The index catches up with changes from the change log in steps`() throws {
        let engine = try engine(1200)
        let search = try SQLiteSearch(store)
        // The index reads some messages before the changes, and the rest after them.
        for _ in 0..<2 { _ = try search.catchUp() }
        change(engine)
        try fill(search)
        let row = try #require(try store.read { try $0.conversation(group) })
        #expect(
            try search.progress(of: number)
                == SearchProgress(epoch: row.epoch(in: store.generation), seq: 1200, rev: row.rev))
        #expect(try find("edited", search, in: [number]).map(\.seq) == [7])
        #expect(try find("hello", search, in: [number]).map(\.seq) == newestFirst([1...6, 9...99, 900...1200]))
        // Changes to messages that are all in the index.
        engine.edit(id(9), in: group, MessageEdit(.text("edited")), by: Caller(user: "alice")) { _ = $0 }
        engine.delete(DeleteRange(from: nil, to: .seq(950)), of: group, by: admin) { _ = $0 }
        try fill(search)
        #expect(try find("edited", search, in: [number]) == [])
        #expect(try find("hello", search, in: [number]).map(\.seq) == (950...1200).reversed())
        try search.close()
    }

    @Test func `The index reads a conversation again after its change log was trimmed or its log was replaced`() throws
    {
        let engine = try engine(20)
        let search = try SQLiteSearch(store)
        try fill(search)
        change(engine)
        engine.commits.submit(
            for: .server,
            { transaction in
                guard var row = try transaction.conversation(.group("a")) else { return }
                row.changeFloor = row.rev
                try transaction.store.dropChanges(in: row.number, through: row.rev)
                try transaction.put(row)
            }
        ) { _ = $0 }
        try fill(search)
        #expect(try find("edited", search, in: [number]).map(\.seq) == [7])
        #expect(try find("hello", search, in: [number]).count == 18)
        engine.deleteConversation(group, by: admin) { _ = $0 }
        try fill(search)
        #expect(try find("hello", search, in: [number]) == [])
        engine.putConversation(group, ConversationSettings(members: ["alice"]), by: admin) { _ = $0 }
        sendMessage("hello again", 1, engine)
        try fill(search)
        #expect(try find("hello", search, in: [number]).map(\.seq) == [1])
        try search.close()
    }

    // MARK: Crashes

    /// A change to the index file while it is closed.
    enum IndexDamage: CaseIterable, Sendable {
        case nothing, dropped, truncated, overwritten, older, cutShort
    }

    @Test(arguments: IndexDamage.allCases)
    func `Search results are the same after any damage to the index file, once the index has caught up`(
        _ damage: IndexDamage
    )
        throws
    {
        let file = folder.url.appending(path: SearchIndex.fileName)
        let first = try SQLiteSearch(store)
        let engine = try engine(1200, first)
        try fill(first)
        try first.close()
        let older = try Data(contentsOf: file)
        let second = try SQLiteSearch(store)
        change(engine)
        for extra: UInt64 in 1201...1300 { sendMessage("hello \(extra)", extra, engine) }
        // The process was killed between the commit of the store and the commit of the index.
        if damage != .cutShort { try fill(second) }
        try second.close()
        switch damage {
        case .nothing, .cutShort: break
        case .dropped: try FileManager.default.removeItem(at: file)
        case .truncated: try Data(contentsOf: file).prefix(20_000).write(to: file)
        case .overwritten: try Data(repeating: 7, count: 10_000).write(to: file)
        case .older: try older.write(to: file)
        }
        let third = try SQLiteSearch(store)
        try fill(third)
        #expect(try find("edited", third, in: [number]).map(\.seq) == [7])
        #expect(
            try find("hello", third, in: [number]).map(\.seq) == newestFirst([1...6, 9...99, 900...1300]))
        try third.close()
    }

    // MARK: Searches that wait for the index

    private func search(_ query: SearchQuery, _ engine: Engine, by user: UserID) async throws -> SearchPage {
        let result: Result<SearchPage, ChatError> = await withCheckedContinuation { continuation in
            engine.search(
                query, by: Caller(user: user), offload: { work in DispatchQueue.global().async(execute: work) },
                completion: { continuation.resume(returning: $0) })
        }
        return try result.get()
    }

    @Test func `A search finds a message right after its send, without background indexing`() async throws {
        let index = try SQLiteSearch(store)
        let engine = try engine(0, index)
        for number: UInt64 in 1...50 {
            sendMessage("tide \(number)", number, engine)
            let page = try await search(SearchQuery("tide", in: group, limit: 1), engine, by: "alice")
            #expect(page.hits.map(\.text) == ["tide \(number)"] && !page.isIndexing)
            engine.edit(id(number), in: group, MessageEdit(.text("ebb \(number)")), by: Caller(user: "alice")) {
                _ = $0
            }
            #expect(try await search(SearchQuery("ebb \(number)"), engine, by: "alice").hits.count == 1)
            #expect(try await search(SearchQuery("tide"), engine, by: "alice").hits.isEmpty)
        }
        try index.close()
        await #expect(throws: (any Error).self) { try await search(SearchQuery("ebb"), engine, by: "alice") }
    }

    @Test func `A search finds every acknowledged message while other members send`() async throws {
        let index = try SQLiteSearch(store)
        let engine = try Engine(store: store, index: index, searchTime: time)
        let made = await withCheckedContinuation { continuation in
            engine.putConversation(group, ConversationSettings(members: ["alice", "bob"]), by: admin) {
                continuation.resume(returning: (try? $0.get()) != nil)
            }
        }
        #expect(made)
        let follower = Task { for await _ in index.commits { try await index.indexPendingCommits() } }
        try await withThrowingTaskGroup { tasks in
            for sender in 0..<4 as Range<UInt64> {
                tasks.addTask {
                    for number in 0..<100 as Range<UInt64> {
                        let word = "w\(sender)x\(number)"
                        let submission = Submission(id: id(1 + sender * 1000 + number), content: .text("\(word) said"))
                        let sent: Result<SendResult, ChatError> = await withCheckedContinuation { continuation in
                            engine.send(submission, to: group, by: Caller(user: sender % 2 == 0 ? "alice" : "bob")) {
                                continuation.resume(returning: $0)
                            }
                        }
                        let place = try #require(try sent.get().position).seq
                        let page = try await search(SearchQuery(word), engine, by: "bob")
                        #expect(page.hits.contains { $0.message.seq == place } && !page.isIndexing)
                    }
                }
            }
            try await tasks.waitForAll()
        }
        #expect(try await search(SearchQuery("said", limit: 100), engine, by: "alice").hits.count == 100)
        follower.cancel()
        engine.commits.close()
        try index.close()
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `Search results match a scan of every message for each reader`(seed: UInt64) async throws {
        let index = try SQLiteSearch(store)
        var workload = try Workload(store, seed: seed)
        let users: [UserID] = ["alice", "bob", "carol", "dave", "stranger"]
        for round in 0..<3 {
            workload.run(steps: 300)
            // In later rounds, the index already has some of the messages.
            for _ in 0..<round * 3 { _ = try index.catchUp() }
            let fast = try Engine(store: store, index: index, searchTime: time)
            let slow = try Engine(store: store, searchTime: time)
            for user in users {
                for conversation in [nil, group, .community("city", channel: "private"), .room("lobby")]
                    as [ConversationID?]
                {
                    for sort in SearchSort.allCases {
                        var query = SearchQuery("hel", in: conversation, sort: sort, limit: 30)
                        while true {
                            let one = try? await search(query, fast, by: user)
                            let other = try? await search(query, slow, by: user)
                            #expect(one?.hits == other?.hits && one?.next == other?.next)
                            guard let next = one?.next else { break }
                            query.cursor = next
                        }
                    }
                }
            }
            fast.commits.close()
            slow.commits.close()
        }
        try index.close()
    }

    @Test func `Background indexing reads all existing messages, and afterwards only what commits changed`()
        async throws
    {
        let index = try SQLiteSearch(store)
        let engine = try engine(700, index)
        try await index.indexPendingCommits()
        #expect(try index.progress(of: number)?.seq == 700)
        change(engine)
        sendMessage("tide", 701, engine)
        try await index.indexPendingCommits()
        let row = try #require(try store.read { try $0.conversation(group) })
        #expect(try index.isComplete([row]))
        #expect(try find("tide", index, in: [number]).map(\.seq) == [701])
        try index.close()
        // After that, a new index finds nothing to do.
        let again = try SQLiteSearch(store)
        #expect(try !again.catchUp())
        try again.close()
    }
}
