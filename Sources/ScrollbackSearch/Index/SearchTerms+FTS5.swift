import ScrollbackWords

extension SearchTerms {
    /// For FTS5: strings and what this type puts between them, nothing of what was typed as it was typed.
    var expression: String {
        terms.map { term in
            let star = term.isPrefix ? "*" : ""
            let words = "\"\(term.words.joined(separator: " "))\"\(star)"
            return term.joined.map { "(\(words) OR \"\($0)\"\(star))" } ?? words
        }.joined(separator: " AND ")
    }
}
