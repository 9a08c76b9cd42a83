extension SearchTerms {
    /// Where a text has what is looked for.
    ///
    /// - Returns: ranges in the text's UTF-8, rising, apart from each other; nothing where one of the terms is missing.
    package func ranges(in text: String) -> [Range<Int>]? {
        let words = Words(text)
        var found: [Range<Int>] = []
        for term in terms {
            let before = found.count
            eachMatch(of: term, in: words) { range, _ in found.append(range) }
            if found.count == before { return nil }
        }
        return isEmpty ? nil : Self.united(found)
    }

    /// How well words answer: more for words that stand there whole, that stand there often, and in a short text.
    ///
    /// BM25 with constants in place of what the whole index would say of a word: it depends on the text alone, so pages go on
    /// where they ended whatever was said meanwhile, and nothing shines through of texts that a reader may not see.
    package func score(of words: Words) -> Int64 {
        let length = Double(words.body.count) / Self.usualLength
        var sum = 0.0
        for term in terms {
            var frequency = 0.0
            eachMatch(of: term, in: words) { _, isWhole in frequency += isWhole ? 1 : 0.5 }
            sum += frequency * (Self.k1 + 1) / (frequency + Self.k1 * (1 - Self.b + Self.b * length))
        }
        return Int64(sum * 1_000_000)
    }

    private static let usualLength = 12.0
    private static let k1 = 1.2
    private static let b = 0.75

    /// Hands over where a term is found, and whether its last word stands there whole.
    private func eachMatch(of term: Term, in words: Words, _ body: (Range<Int>, Bool) -> Void) {
        func compare(_ word: Words.Word, _ text: String, isPrefix: Bool) -> Bool {
            let folded = words.bytes[word.folded]
            return isPrefix ? folded.starts(with: text.utf8) : folded.elementsEqual(text.utf8)
        }
        func range(of word: Words.Word, foundBy text: String) -> Range<Int> {
            // A single character is what a pair begins with, and the pair's other one was not looked for.
            let isFirst = word.firstEnd < word.range.upperBound && text.count == 1
            return word.range.lowerBound..<(isFirst ? word.firstEnd : word.range.upperBound)
        }
        let looked = term.words
        guard let last = looked.last else { return }
        var starts: Set<Int> = []
        if words.body.count >= looked.count {
            for start in 0...(words.body.count - looked.count) {
                let places = words.body[start..<(start + looked.count)]
                guard let first = places.first, let end = places.last, compare(end, last, isPrefix: term.isPrefix),
                    zip(places, looked).dropLast().allSatisfy({ compare($0, $1, isPrefix: false) })
                else { continue }
                starts.insert(first.range.lowerBound)
                body(
                    first.range.lowerBound..<range(of: end, foundBy: last).upperBound,
                    end.folded.count == last.utf8.count)
            }
        }
        // What was found as a part is not found again as the beginning of the parts joined.
        func eachWord(_ words: [Words.Word], _ text: String) {
            for word in words
            where compare(word, text, isPrefix: term.isPrefix) && starts.insert(word.range.lowerBound).inserted {
                body(word.range, word.folded.count == text.utf8.count)
            }
        }
        if let joined = term.joined { eachWord(words.body + words.joined, joined) }
        if looked.count == 1 { eachWord(words.joined, last) }
    }

    private static func united(_ ranges: [Range<Int>]) -> [Range<Int>] {
        var united: [Range<Int>] = []
        for range in ranges.sorted(by: { ($0.lowerBound, $0.upperBound) < ($1.lowerBound, $1.upperBound) }) {
            if let last = united.last, range.lowerBound <= last.upperBound {
                united[united.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                united.append(range)
            }
        }
        return united
    }
}
