import Foundation
import ScrollbackModel
import ScrollbackSearch
import TextAnalysis
import TestSupport
import Testing

@Suite("The search index")
struct SearchIndexTests {
    private let index: SearchIndex

    init() throws {
        index = try SearchIndex(directory: nil)
    }

    private func seqs(_ query: String, in conversation: Int64 = 1, sort: SearchSort = .newestFirst) throws -> [Seq] {
        try index.all(query, in: [SearchScope(conversation: conversation)], sort: sort).map(\.place.seq)
    }

    @Test("Added messages are found newest first, replaced ones by their new text, and removed ones not at all")
    func changes() throws {
        try index.write { try $0.put([row(1, "hello"), row(2, "world"), row(3, "hello world")], in: 1) }
        #expect(try seqs("hello") == [3, 1])
        try index.write { try $0.put([row(1, "goodbye"), row(3, nil)], in: 1) }
        #expect(try seqs("hello") == [])
        #expect(try seqs("good") == [1])
        try index.write { try $0.put([row(1, "goodbye"), row(4, "hello")], in: 1) }
        try index.write { _ = try $0.remove(SearchScope(conversation: 1, range: 1...3)) }
        #expect(try seqs("goodbye") == [])
        #expect(try seqs("hello") == [4])
        try index.write {
            try $0.replace(SearchScope(conversation: 1, range: 2...9), with: [row(5, "hello again"), row(6, nil)])
        }
        #expect(try seqs("hello") == [5])
        #expect(try index.write { try $0.violations() } == [])
    }

    @Test("Pages neither repeat nor skip messages while messages are added", arguments: SearchSort.allCases)
    func pages(sort: SearchSort) throws {
        var generator = SplitMix64(seed: 3)
        var seq: Seq = 0
        func sendMessages(_ count: Int) throws {
            for _ in 0..<count {
                seq += 1
                let words = (0..<Int.random(in: 0...6, using: &generator)).map { _ in
                    ["apple", "apples", "pear", "x"][Int.random(in: 0..<4, using: &generator)]
                }
                let line = row(seq, (words + ["apple"]).joined(separator: " "))
                let conversation = Int64.random(in: 1...9, using: &generator)
                try index.write { try $0.put([line], in: conversation) }
            }
        }
        try sendMessages(200)
        let before = Set(try index.all("apple", sort: sort, page: 100).map(\.place))
        #expect(before.count == 200)
        var found: [SearchMatch] = []
        var position: SearchPosition?
        while true {
            let page = try index.read { try $0.find(SearchTerms("apple"), sort: sort, after: position, limit: 7) }
            found += page.matches
            guard let last = page.matches.last else { break }
            position = page.position(after: last)
            try sendMessages(1)
        }
        #expect(found.count == 200 && Set(found.map(\.place)) == before)
    }

    @Test("Best-first order prefers whole words, frequent words and short messages")
    func best() throws {
        let texts = [
            "the swift compiler", "swiftly done", "swift swift swift", "swift",
            "swift and a great many other words that have nothing to do with it at all as far as anybody can see",
        ]
        let rows = texts.enumerated().map { row(Seq($0.offset + 1), $0.element) }
        try index.write { try $0.put(rows, in: 1) }
        #expect(
            try seqs("swift", sort: .bestFirst) == [3, 4, 1, 5, 2]
                || seqs("swift", sort: .bestFirst) == [3, 4, 1, 2, 5])
    }

    @Test("Rare and common words give the same results as a scan, in one, some and all conversations")
    func resultsEqualAScan() throws {
        var generator = SplitMix64(seed: 5)
        var lines: [(place: IndexPosition, text: String)] = []
        for number in 1...6_000 {
            let conversation = Int64.random(in: 1...40, using: &generator)
            let seq = Seq(number)
            var words = ["common"]
            if number.isMultiple(of: 3) { words.append("third") }
            if number.isMultiple(of: 701) { words.append("rare") }
            let time = Timetoken(rawValue: UInt64(number / 2) + UInt64.max / 2 - 1000)
            lines.append(
                (IndexPosition(time: time, conversation: conversation, seq: seq), words.joined(separator: " ")))
        }
        try index.write { writer in
            for (place, text) in lines {
                try writer.put([SearchRow(seq: place.seq, time: place.time, text: text)], in: place.conversation)
            }
        }
        let scopes: [[SearchScope]?] = [
            nil, [SearchScope(conversation: 7)], (3...30).map { SearchScope(conversation: $0, range: 1000...4000) },
            [SearchScope(conversation: 7, range: 1...99), SearchScope(conversation: 7, range: 3000...5000)],
            [], [SearchScope(conversation: 99)],
        ]
        for scope in scopes {
            for query in ["common", "third", "rare", "third comm", "none", "rar \"third common\""] {
                let terms = SearchTerms(query)
                let expected = lines.filter { line in
                    terms.ranges(in: line.text) != nil
                        && scope?.contains {
                            $0.conversation == line.place.conversation && $0.range.contains(line.place.seq)
                        }
                            ?? true
                }.map(\.place).sorted(by: >)
                let found = try index.all(query, in: scope, page: 50).map(\.place)
                #expect(found == expected, "\(query) in \(scope?.count ?? -1)")
            }
        }
    }

    @Test("The index finds the same messages in real logs as a scan", .needs(.chatLog("gitter-freecodecamp.jsonl")))
    func realLogs() throws {
        let lines = try LogLine.all(of: "gitter-freecodecamp.jsonl")
        // Every text with characters outside ASCII, and every twentieth text.
        let texts = lines.enumerated().filter {
            $0.offset.isMultiple(of: 20) || $0.element.text.utf8.contains { $0 > 0x7F }
        }
        .map(\.element.text).prefix(2_500)
        let rows = texts.enumerated().map { row(Seq($0.offset + 1), $0.element) }
        try index.write { try $0.put(rows, in: 1) }
        var generator = SplitMix64(seed: 9)
        for _ in 0..<25 {
            let text = texts[Int.random(in: texts.indices, using: &generator)]
            let words = TokenizedText(text)
            guard let word = words.tokens.randomElement(using: &generator) else { continue }
            let utf8 = Array(text.utf8)
            let piece = String(decoding: utf8[word.range], as: UTF8.self)
            for query in [piece, "\"\(piece)\"", String(piece.prefix(3))] where !SearchTerms(query).isEmpty {
                let terms = SearchTerms(query)
                let expected = rows.filter { terms.ranges(in: $0.text ?? "") != nil }.map(\.seq)
                #expect(try seqs(query).sorted() == expected, "\(query.debugDescription)")
            }
        }
    }

    @Test("The progress of a conversation and of the whole index is stored with the rows")
    func progress() throws {
        let progress = SearchProgress(epoch: Epoch(rawValue: .max), seq: 5, rev: 9)
        try index.write {
            try $0.setProgress(progress, of: 4)
            try $0.setWatermark(12)
        }
        #expect(try index.read { try ($0.progress(of: 4), $0.progress(of: 5)) } == (progress, nil))
        #expect(try index.read { try $0.watermark() } == 12)
        try index.write { try $0.setProgress(nil, of: 4) }
        #expect(try index.read { try $0.progress(of: 4) } == nil)
    }

    @Test(
        "Unusual texts are indexed and found",
        arguments: [
            "", " ", String(repeating: "word ", count: 26_000), String(repeating: "a", count: 131_072),
            "\u{0}a\u{0}b", String(repeating: "日", count: 40_000), "\u{202E}abc😂", "#+* ## * + #\u{FE0F}\u{20E3}",
            "\u{FFFF}\u{E000}",
        ])
    func unusualTextsAreIndexed(text: String) throws {
        try index.write { try $0.put([row(1, text)], in: 1) }
        for word in TokenizedText(text).tokens.prefix(3) {
            let piece = String(decoding: Array(text.utf8)[word.range].prefix(200), as: UTF8.self)
            #expect(try seqs(piece) == [1], "\(piece.debugDescription)")
        }
        try index.write { try $0.put([row(1, nil)], in: 1) }
        #expect(try index.read { try $0.count() } == 0)
        #expect(try index.write { try $0.violations() } == [])
    }
}
