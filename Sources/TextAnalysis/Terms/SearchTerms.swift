/// The terms of a search text.
///
/// All terms between spaces must match. The words of a term must be adjacent, and the last one can match a prefix: `mig
/// data` finds "data migration", `file.na` finds "file.name". A term in double quotes matches exactly, including its
/// last word. An unmatched quotation mark extends to the end. No other syntax exists: `AND`, `NEAR`, `*`, `-` and `^`
/// are words or ignored.
package struct SearchTerms: Hashable, Sendable {
    /// A sequence of adjacent words.
    package struct Term: Hashable, Sendable {
        /// The folded words.
        package var words: [String]
        /// The words joined into one, if only connectors separate them: `don't` finds "dont".
        package var joined: String?
        /// Whether the last word matches as a prefix.
        package var isPrefix: Bool
    }

    /// The terms, all of which must match; empty if the text has only punctuation, which matches nothing.
    package private(set) var terms: [Term] = []

    /// Parses a search text.
    package init(_ text: String) {
        for (index, piece) in text.split(omittingEmptySubsequences: false, whereSeparator: Self.isQuote).enumerated() {
            if index.isMultiple(of: 2) {
                for chunk in piece.split(whereSeparator: \.isWhitespace) { add(String(chunk), isPrefix: true) }
            } else {
                add(String(piece), isPrefix: false)
            }
        }
    }

    /// Returns whether a character is a quotation mark; keyboards replace `"` with typographic ones.
    private static func isQuote(_ character: Character) -> Bool { ["\"", "“", "”", "„"].contains(character) }

    private mutating func add(_ text: String, isPrefix: Bool) {
        let words = TokenizedText(text)
        var tokens = words.tokens[...]
        guard let last = tokens.last else { return }
        // The single last character of a run is part of a pair already, or the start of one.
        let isInPair = last.isTrailingCharacter && tokens.dropLast().last?.range.upperBound == last.range.upperBound
        if isInPair { tokens.removeLast() }
        let whole = (tokens.first?.range.lowerBound ?? 0)..<last.range.upperBound
        let joined = words.joined.first { $0.range == whole }
        let term = Term(
            words: tokens.map(words.text), joined: joined.map(words.text),
            isPrefix: isPrefix || (last.isTrailingCharacter && !isInPair))
        if !terms.contains(term) { terms.append(term) }
    }

    /// Whether the search has no terms.
    package var isEmpty: Bool { terms.isEmpty }

    /// The number of the newest matches that a best-first query compares.
    package static let candidateLimit = 1000
}
