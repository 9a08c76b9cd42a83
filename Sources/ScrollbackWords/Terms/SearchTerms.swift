/// What a person typed into a search box, as words to be looked for.
///
/// Everything that stands between spaces must be found, and is found where its words follow each other and the last one
/// begins so: `mig data` finds "data migration", `file.na` finds "file.name". What stands in double quotes must be found as it
/// is, its last word whole. A quotation mark without another one goes to the end. There is no other syntax: `AND`, `NEAR`,
/// `*`, `-` and `^` are words, or nothing.
package struct SearchTerms: Hashable, Sendable {
    /// Words that follow each other.
    package struct Term: Hashable, Sendable {
        /// Folded.
        package var words: [String]
        /// The words as one, if nothing but connectors is between them: `don't` finds "dont".
        package var joined: String?
        /// Whether the last word may go on.
        package var isPrefix: Bool
    }

    /// All must be found; none where nothing was typed but punctuation, which finds nothing.
    package private(set) var terms: [Term] = []

    /// Takes apart what was typed.
    package init(_ text: String) {
        for (index, piece) in text.split(omittingEmptySubsequences: false, whereSeparator: Self.isQuote).enumerated() {
            if index.isMultiple(of: 2) {
                for chunk in piece.split(whereSeparator: \.isWhitespace) { add(String(chunk), isPrefix: true) }
            } else {
                add(String(piece), isPrefix: false)
            }
        }
    }

    /// Keyboards make typographic ones of `"`.
    private static func isQuote(_ character: Character) -> Bool { ["\"", "“", "”", "„"].contains(character) }

    private mutating func add(_ text: String, isPrefix: Bool) {
        let words = Words(text)
        var body = words.body[...]
        guard let last = body.last else { return }
        // The last character of a run by itself: in a pair already, or what a pair begins with.
        let isInPair = last.isTail && body.dropLast().last?.range.upperBound == last.range.upperBound
        if isInPair { body.removeLast() }
        let whole = (body.first?.range.lowerBound ?? 0)..<last.range.upperBound
        let joined = words.joined.first { $0.range == whole }
        let term = Term(
            words: body.map(words.text), joined: joined.map(words.text),
            isPrefix: isPrefix || (last.isTail && !isInPair))
        if !terms.contains(term) { terms.append(term) }
    }

    /// Whether nothing is looked for.
    package var isEmpty: Bool { terms.isEmpty }

    /// How many of the newest matches a question for the best ones compares.
    package static let candidates = 1000
}
