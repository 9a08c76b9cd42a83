import TextAnalysis

extension SearchTerms {
    /// The FTS5 expression, which contains only quoted strings and operators, never raw user input.
    var expression: String {
        terms.map { term in
            let star = term.isPrefix ? "*" : ""
            let words = "\"\(term.words.joined(separator: " "))\"\(star)"
            return term.joined.map { "(\(words) OR \"\($0)\"\(star))" } ?? words
        }.joined(separator: " AND ")
    }
}
