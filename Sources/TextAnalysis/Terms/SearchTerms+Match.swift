extension SearchTerms {
    /// Returns the matches in a text.
    ///
    /// - Returns: Ascending, disjoint ranges in the text's UTF-8; `nil` if one of the terms does not occur.
    package func ranges(in text: String) -> [Range<Int>]? {
        let words = TokenizedText(text)
        var found: [Range<Int>] = []
        for term in terms {
            let before = found.count
            forEachMatch(of: term, in: words) { range, _ in found.append(range) }
            if found.count == before { return nil }
        }
        return isEmpty ? nil : Self.merged(found)
    }

    /// Returns the relevance of words: higher for whole words, frequent matches and short texts.
    ///
    /// The formula is BM25 with constants instead of statistics of the whole index. It depends only on the text. Pages
    /// therefore stay consistent while messages arrive, and scores reveal nothing about texts that the reader may not
    /// see.
    package func score(of words: TokenizedText) -> Int64 {
        let length = Double(words.tokens.count) / Self.averageLength
        var sum = 0.0
        for term in terms {
            var frequency = 0.0
            forEachMatch(of: term, in: words) { _, isWhole in frequency += isWhole ? 1 : 0.5 }
            sum += frequency * (Self.k1 + 1) / (frequency + Self.k1 * (1 - Self.b + Self.b * length))
        }
        return Int64(sum * 1_000_000)
    }

    private static let averageLength = 12.0
    private static let k1 = 1.2
    private static let b = 0.75

    /// Calls `body` with each match of a term, and whether its last word matches completely.
    private func forEachMatch(of term: Term, in words: TokenizedText, _ body: (Range<Int>, Bool) -> Void) {
        func compare(_ word: TokenizedText.Token, _ text: String, isPrefix: Bool) -> Bool {
            let folded = words.bytes[word.folded]
            return isPrefix ? folded.starts(with: text.utf8) : folded.elementsEqual(text.utf8)
        }
        func range(of word: TokenizedText.Token, foundBy text: String) -> Range<Int> {
            // A single character matches the first half of a pair, so the range excludes the other half.
            let isFirst = word.firstCharacterEnd < word.range.upperBound && text.count == 1
            return word.range.lowerBound..<(isFirst ? word.firstCharacterEnd : word.range.upperBound)
        }
        let termWords = term.words
        guard let last = termWords.last else { return }
        var starts: Set<Int> = []
        if words.tokens.count >= termWords.count {
            for start in 0...(words.tokens.count - termWords.count) {
                let places = words.tokens[start..<(start + termWords.count)]
                guard let first = places.first, let end = places.last, compare(end, last, isPrefix: term.isPrefix),
                    zip(places, termWords).dropLast().allSatisfy({ compare($0, $1, isPrefix: false) })
                else { continue }
                starts.insert(first.range.lowerBound)
                body(
                    first.range.lowerBound..<range(of: end, foundBy: last).upperBound,
                    end.folded.count == last.utf8.count)
            }
        }
        // A match in separate parts must not count again as the start of the joined parts.
        func forEachToken(_ words: [TokenizedText.Token], _ text: String) {
            for word in words
            where compare(word, text, isPrefix: term.isPrefix) && starts.insert(word.range.lowerBound).inserted {
                body(word.range, word.folded.count == text.utf8.count)
            }
        }
        if let joined = term.joined { forEachToken(words.tokens + words.joined, joined) }
        if termWords.count == 1 { forEachToken(words.joined, last) }
    }

    private static func merged(_ ranges: [Range<Int>]) -> [Range<Int>] {
        var merged: [Range<Int>] = []
        for range in ranges.sorted(by: { ($0.lowerBound, $0.upperBound) < ($1.lowerBound, $1.upperBound) }) {
            if let last = merged.last, range.lowerBound <= last.upperBound {
                merged[merged.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        return merged
    }
}
