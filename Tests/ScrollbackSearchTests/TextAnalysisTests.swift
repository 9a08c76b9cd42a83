import ScrollbackModel
import ScrollbackSearch
import TextAnalysis
import Testing

@Suite("Words of a text")
struct TextAnalysisTests {
    /// Checks the invariants of the words of any text.
    private func check(_ text: String) {
        let words = TokenizedText(text)
        var last = 0
        // Words begin and end only at boundaries of characters.
        var edges = Set(text.indices.map { text.utf8.distance(from: text.startIndex, to: $0) })
        edges.insert(text.utf8.count)
        for word in words.tokens {
            #expect(
                word.range.lowerBound >= last && word.range.upperBound <= text.utf8.count, "\(text.debugDescription)")
            #expect(!word.range.isEmpty && !word.folded.isEmpty && word.firstCharacterEnd <= word.range.upperBound)
            #expect(edges.isSuperset(of: [word.range.lowerBound, word.range.upperBound, word.firstCharacterEnd]))
            last = word.range.lowerBound
        }
        for word in words.joined {
            #expect(edges.isSuperset(of: [word.range.lowerBound, word.range.upperBound]))
        }
        // The index stores exactly these words.
        let read = TokenizedText(serialized: words.serialized)
        #expect(read.tokens.map(read.text) == words.tokens.map(words.text))
        #expect(read.joined.map(read.text) == words.joined.map(words.text))
        for word in words.tokens {
            let range = word.range
            let piece = String(decoding: Array(text.utf8)[range], as: UTF8.self)
            #expect(SearchTerms(piece).ranges(in: text) != nil, "\(piece.debugDescription) in \(text.debugDescription)")
        }
    }

    @Test("Folding the folded form of any Unicode character changes nothing, and the character matches itself")
    func everyScalar() {
        // A sample of the unassigned code points, and of the long runs of letters that share a folding rule.
        let long: [ClosedRange<UInt32>] = [
            0x3400...0x9FFF, 0xAC00...0xD7FF, 0xE000...0xF8FF, 0x12000...0x1CFFF, 0x20000...0x10FFFF,
        ]
        for value in 0...0x10FFFF as ClosedRange<UInt32> {
            if value % 61 != 0, long.contains(where: { $0.contains(value) }) { continue }
            guard let scalar = Unicode.Scalar(value) else { continue }
            let words = TokenizedText(String(scalar))
            let folded = words.tokens.map(words.text).joined()
            let again = TokenizedText(folded)
            let twice = again.tokens.filter { !$0.isTrailingCharacter || again.tokens.count == 1 }.map(again.text)
                .joined()
            if twice != folded, words.tokens.count == 1, again.tokens.count == 1 {
                Issue.record("U+\(String(value, radix: 16)): \(folded) folds to \(twice)")
            }
            if !words.tokens.isEmpty, SearchTerms(String(scalar)).ranges(in: "x\n\(scalar) y") == nil {
                Issue.record("U+\(String(value, radix: 16)) does not match itself")
            }
        }
    }

    @Test("Words of any text are in order, end at character boundaries, and match the text")
    func anyText() {
        var generator = SplitMix64(seed: 11)
        let pieces: [String] = [
            "a", "B", "é", "e\u{301}", "7", "_", "-", ".", "'", " ", "\r\n", "\n", "\u{0}", "日", "本", "ｶ", "ﾞ",
            "か\u{3099}",
            "한", "\u{1112}\u{1161}", "ก", "ำ", "ا", "ً", "ـ", "آ", "ש", "ָ", "😂", "👩‍💻", "🇫", "🇷", "👍🏽", "\u{1F3FD}",
            "\u{FE0F}",
            "\u{200D}", "\u{200B}", "\u{301}", "1\u{FE0F}\u{20E3}", "\u{E0067}", "\u{202E}", "ß", "İ", "ﬁ", "½", "℃",
            "C++",
            "C#", "\u{600}", "\u{FFFF}", "\u{E000}", "\"", "*", "+", "#", "क", "्", "ष", "\u{10FFFF}",
        ]
        for _ in 0..<1_500 {
            let count = Int.random(in: 0...12, using: &generator)
            check((0..<count).map { _ in pieces[Int.random(in: 0..<pieces.count, using: &generator)] }.joined())
        }
        for _ in 0..<1_000 {
            var text = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0...10, using: &generator) {
                let range: ClosedRange<UInt32> = Bool.random(using: &generator) ? 0...0x3FF : 0...0x10FFFF
                if let scalar = Unicode.Scalar(UInt32.random(in: range, using: &generator)) { text.append(scalar) }
            }
            check(String(text))
        }
    }

    @Test("Long texts take time proportional to their length, and long words are indexed up to the limit")
    func long() {
        let texts = [
            String(repeating: "a", count: 128 << 10), String(repeating: "A", count: 128 << 10),
            String(repeating: "aB", count: 64 << 10), String(repeating: "日", count: 40 << 10),
            String(repeating: "😂", count: 30 << 10), String(repeating: "a_", count: 64 << 10),
            "a" + String(repeating: "\u{301}", count: 60 << 10), "日" + String(repeating: "\u{3099}", count: 40 << 10),
            "👩" + String(repeating: "\u{200D}👩", count: 10 << 10), String(repeating: "word ", count: 25 << 10),
        ]
        for text in texts {
            let words = TokenizedText(text)
            #expect(words.bytes.count < text.utf8.count * 6)
            #expect(words.tokens.allSatisfy { $0.folded.count <= TokenizedText.maximumBytes + 2 })
        }
        let hash = String(repeating: "0123456789abcdef", count: 10)
        #expect(SearchTerms(hash).ranges(in: "see \(hash)!") == [4..<164])
    }
}
