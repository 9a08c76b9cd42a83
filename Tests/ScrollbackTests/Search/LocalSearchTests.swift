import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackSearch
import TextAnalysis
import ScrollbackSync
import TestSupport
import Testing

@Suite("Local search")
struct LocalSearchTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func client(inMemory: Bool = false) async throws -> ChatClient {
        let nowhere = try #require(URL(string: "http://127.0.0.1:9"))
        return try await ChatClient.open(
            .init(
                server: nowhere, user: "alice", store: inMemory ? .inMemory : .directory(folder.url), token: { "none" })
        )
    }

    private func apply(_ inputs: [LogInput], to client: ChatClient) async throws {
        _ = try await client.core.apply(inputs)
    }

    /// Opens a client on the shared folder, runs the body, and closes the client.
    private func withClient<Answer>(
        inMemory: Bool = false, _ body: (ChatClient) async throws -> Answer
    ) async throws -> Answer {
        let client = try await client(inMemory: inMemory)
        let result: Result<Answer, any Error>
        do {
            result = .success(try await body(client))
        } catch {
            result = .failure(error)
        }
        await client.close()
        return try result.get()
    }

    @Test(
        "A search finds live messages, pages and changes in their current state, on disk and in memory",
        arguments: [true, false])
    func changes(inMemory: Bool) async throws {
        try await withClient(inMemory: inMemory) { client in
            let chat = client.conversation(swift)
            try await apply([.head(head(swift, 20)), .page(swift, page(swift, 11...20))], to: client)
            #expect(try await chat.search("hello").hits.count == 10)
            try await apply([.live(.message(message(swift, 21, "東京へ hello")))], to: client)
            let tokyo = try await chat.search("東京")
            #expect(tokyo.hits.map(\.message.seq) == [21] && tokyo.next == nil)
            #expect(tokyo.hits.first.map { hit in hit.highlights.map { String(hit.text[$0]) } } == ["東京"])

            let epoch = Epoch(rawValue: 7)
            let edit = message(swift, 15, "goodbye", rev: 1)
            let recall = message(swift, 16, nil, rev: 2)
            try await apply(
                [.live(.changed(swift, epoch, .message(edit))), .live(.changed(swift, epoch, .message(recall)))],
                to: client)
            #expect(try await chat.search("goodbye").hits.map(\.message.seq) == [15])
            #expect(try await chat.search("hello").hits.map(\.message.seq) == [21, 20, 19, 18, 17, 14, 13, 12, 11])

            // The retention floor rises, so the messages below it are deleted.
            try await apply([.head(head(swift, 21, rev: 2, firstSeq: 18))], to: client)
            #expect(try await chat.search("hello").hits.map(\.message.seq) == [21, 20, 19, 18])
            // The conversation is recreated.
            try await apply(
                [.head(head(swift, 3, epoch: 8)), .page(swift, page(swift, 1...3, epoch: 8))], to: client)
            #expect(try await chat.search("hello").hits.map(\.message.seq) == [3, 2, 1])
            #expect(try await chat.search("東京").hits == [])
            try await client.core.store.write { try $0.deleteConversation(swift) }
            #expect(try await client.search("hello").hits == [])
            #expect(try await client.core.store.read { try $0.unindexedCount() } == 0)
        }
    }

    @Test("A search over all conversations returns pages in order of time without repeats or omissions")
    func allConversationsAreSearched() async throws {
        try await withClient(inMemory: true) { client in
            var inputs: [LogInput] = []
            var places: [[Int64]] = []
            for number in 1...30 as ClosedRange<Int64> {
                let id = ConversationID.group(Identifier(known: "g\(number)"))
                inputs.append(.head(head(id, 0)))
                for seq in 1...10 as SeqRange {
                    let time = UInt64(seq * 100 + number)
                    inputs.append(.live(.message(message(id, seq, "common \(number)", time: time))))
                    places.append([Int64(time), seq])
                }
            }
            try await apply(inputs, to: client)
            var found: [[Int64]] = []
            var cursor: SearchCursor?
            repeat {
                let page = try await client.search("comm", limit: 7, after: cursor)
                found += page.hits.map { [Int64($0.message.timetoken.rawValue), $0.message.seq] }
                cursor = page.next
            } while cursor != nil
            #expect(found == places.sorted { $0[0] > $1[0] })
            let one = try await client.conversation(.group("g7")).search("common", sort: .bestFirst, limit: 100)
            #expect(one.hits.count == 10 && one.next == nil)
            #expect(one.hits.allSatisfy { $0.message.conversation == .group("g7") })
        }
    }

    @Test("An invalid search throws an error that names the parameter, and unusual text finds nothing")
    func refusals() async throws {
        try await withClient(inMemory: true) { client in
            try await apply([.head(head(swift, 30)), .page(swift, page(swift, 1...30))], to: client)
            func refused(_ body: () async throws -> Void) async -> String? {
                do {
                    try await body()
                    return nil
                } catch {
                    let error = error as? ChatError
                    return error?.code == .invalidParameter ? error?.parameter : "\(String(describing: error))"
                }
            }
            #expect(await refused { _ = try await client.search("") } == "text")
            let long = String(repeating: "é", count: 129)
            #expect(await refused { _ = try await client.search(long) } == "text")
            #expect(await refused { _ = try await client.search("a", limit: 0) } == "limit")
            #expect(await refused { _ = try await client.search("a", limit: 101) } == "limit")
            #expect(await refused { _ = try await client.search("a", after: .init(rawValue: "x")) } == "cursor")
            let next = try #require(try await client.search("hello").next)
            #expect(await refused { _ = try await client.search("hell", after: next) } == "cursor")
            #expect(await refused { _ = try await client.search("hello", sort: .bestFirst, after: next) } == "cursor")
            #expect(await refused { _ = try await client.conversation(swift).search("hello", after: next) } == "cursor")
            #expect(try await client.conversation(.group("none")).search("hello").hits == [])
            for text in [
                "...", "\"", "AND", "NEAR(", "hello)", "\u{0}", "*", "words:", "- \" ^", "\u{202E}", "hel* AND (",
            ] {
                _ = try await client.search(text)
            }
        }
    }

    @Test(
        "A lost, damaged or outdated index is repaired before the next search", arguments: 0..<5)
    func damagedIndexIsRepaired(how: Int) async throws {
        try await withClient { client in
            try await apply([.head(head(swift, 30)), .page(swift, page(swift, 1...30))], to: client)
            #expect(try await client.search("hello", limit: 100).hits.count == 30)
        }
        let file = folder.url.appending(path: SearchIndex.fileName)
        let saved = try Data(contentsOf: file)
        try await withClient { client in
            try await apply([.live(.message(message(swift, 31)))], to: client)
            // The client stops before or after the index is updated.
            if how == 4 { _ = try await client.search("hello") }
        }
        switch how {
        case 0: try SearchIndex.erase(in: folder.url)
        case 1: try saved.prefix(saved.count / 2).write(to: file)
        case 2: try Data(repeating: 7, count: 50_000).write(to: file)
        case 3: try saved.write(to: file)
        // After a power failure, the index can be older than the store assumes.
        default: try saved.write(to: file)
        }
        try await withClient { client in
            let hits = try await client.search("hello", limit: 100).hits
            #expect(hits.map(\.message.seq) == (1...31).reversed())
        }
    }

    @Test("The index is updated in the background")
    func background() async throws {
        try await withClient(inMemory: true) { client in
            #expect(try await client.search("hello", from: .local).hits.isEmpty)
            try await apply([.head(head(swift, 30)), .page(swift, page(swift, 1...30))], to: client)
            #expect(try await client.core.store.read { try $0.unindexedCount() } > 0)
            #expect(
                try await eventually { try await client.core.store.read { try $0.unindexedCount() } == 0 })
        }
    }

    @Test("Search results match the rows of a log after random events")
    func resultsMatchARandomLog() async throws {
        for seed in 1...5 as ClosedRange<UInt64> {
            try await withClient(inMemory: true) { client in
                var generator = SplitMix64(seed: seed)
                var epoch: UInt64 = 7
                var rev: Int64 = 0
                var head: Seq = 1500
                try await apply([.head(Makers.head(swift, head, epoch: epoch))], to: client)
                for _ in 0..<20 {
                    switch Int.random(in: 0...9, using: &generator) {
                    case 0:
                        epoch += 1
                        rev = 0
                        try await apply([.head(Makers.head(swift, head, epoch: epoch))], to: client)
                    case 1, 2:
                        head += 1
                        let text = ["red", "green", "red green"][Int.random(in: 0...2, using: &generator)]
                        try await apply(
                            [.live(.message(message(swift, head, text, epoch: epoch, rev: rev)))], to: client)
                    case 3, 4:
                        rev += 1
                        let seq = Seq.random(in: 1...head, using: &generator)
                        let text = [nil, "red", "blue"][Int.random(in: 0...2, using: &generator)]
                        let change = message(swift, seq, text, epoch: epoch, rev: rev)
                        try await apply(
                            [.live(.changed(swift, Epoch(rawValue: epoch), .message(change)))], to: client)
                    case 5:
                        let floor = Seq.random(in: 1...max(1, head / 4), using: &generator)
                        try await apply(
                            [.head(Makers.head(swift, head, rev: rev, firstSeq: floor, epoch: epoch))], to: client)
                    default:
                        let lower = Seq.random(in: 1...head, using: &generator)
                        let upper = min(head, lower + Seq.random(in: 0...900, using: &generator))
                        var read = page(swift, lower...upper, epoch: epoch, text: "red")
                        read.state.rev = rev
                        try await apply([.page(swift, read)], to: client)
                    }
                    guard Bool.random(using: &generator) else { continue }
                    // Recalled and deleted messages must be removed from the index, not only hidden.
                    let index = try await client.core.search.upToDateIndex()
                    var rows = 0
                    for try await row in client.conversation(swift).messages(source: .local) where row.text != nil {
                        rows += 1
                    }
                    #expect(try index.read { try $0.count() } == rows, "seed \(seed)")
                    for query in ["red", "blu", "hello"] {
                        var expected: [Seq] = []
                        for try await row in client.conversation(swift).messages(source: .local)
                        where SearchTerms(query).ranges(in: row.text ?? "") != nil { expected.append(row.seq) }
                        var found: [Seq] = []
                        var cursor: SearchCursor?
                        repeat {
                            let page = try await client.search(query, limit: 100, after: cursor)
                            found += page.hits.map(\.message.seq)
                            cursor = page.next
                        } while cursor != nil
                        #expect(found == expected, "seed \(seed), \(query)")
                    }
                }
            }
        }
    }
}

private let swift: ConversationID = .group("swift")

private enum Makers {
    static func head(
        _ id: ConversationID, _ seq: Seq, rev: Int64 = 0, firstSeq: Seq = 1, epoch: UInt64 = 7
    ) -> ConversationHead {
        ConversationHead(
            conversation: id,
            state: LogHead(
                epoch: Epoch(rawValue: epoch), view: 0, head: seq, firstSeq: firstSeq, countedIndex: seq, rev: rev))
    }
}

private func head(
    _ id: ConversationID, _ seq: Seq, rev: Int64 = 0, firstSeq: Seq = 1, epoch: UInt64 = 7
) -> ConversationHead {
    Makers.head(id, seq, rev: rev, firstSeq: firstSeq, epoch: epoch)
}

private func message(
    _ id: ConversationID, _ seq: Seq, _ text: String? = "hello", epoch: UInt64 = 7, rev: Int64 = 0, time: UInt64? = nil
) -> Message {
    Message(
        conversation: id, seq: seq, countedIndex: seq, id: MessageID(high: 0x7000 + epoch, low: UInt64(seq)),
        timetoken: Timetoken(rawValue: time ?? UInt64(seq)), epoch: Epoch(rawValue: epoch), sender: "bob", type: .text,
        content: text.map(MessageContent.text), rev: rev)
}

private func page(_ id: ConversationID, _ places: SeqRange, epoch: UInt64 = 7, text: String = "hello") -> LogPage {
    LogPage(
        messages: places.map { message(id, $0, text, epoch: epoch) },
        coverage: Coverage(lower: places.lowerBound, upper: places.upperBound, deletedRanges: SeqRangeSet()),
        isFiltered: false, older: nil, newer: nil,
        state: LogHead(
            epoch: Epoch(rawValue: epoch), view: 0, head: max(places.upperBound, 1), firstSeq: 1,
            countedIndex: places.upperBound,
            rev: 0))
}
