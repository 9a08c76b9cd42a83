import ScrollbackModel
import ScrollbackSearch
import TextAnalysis

extension ClientCore {
    /// Searches the messages on this device.
    ///
    /// The index returns candidates. A message is a result only if its current row matches.
    func localSearch(_ query: SearchQuery) async throws(ChatError) -> SearchPage {
        try query.check(pageSize: Limits.standard.pageSize)
        var position = try query.cursor.map { cursor throws(ChatError) in try cursor.position(of: query, by: .device) }
        let terms = SearchTerms(query.text)
        var page = SearchPage(hits: [], next: nil)
        guard !terms.isEmpty else { return page }
        var number: Int64?
        if let id = query.conversation {
            number = try await store.read { try $0.number(of: id) }
            if number == nil { return page }
        }
        for _ in 0..<Self.rounds {
            // Request one more than needed, to learn whether there are more.
            let found = try await search.find(
                terms, in: number, sort: query.sort, after: position, limit: query.limit - page.hits.count + 1)
            let wanted = found.matches.prefix(query.limit - page.hits.count)
            page.hits += try await hits(Array(wanted), terms)
            guard let last = wanted.last, found.matches.count > wanted.count else { return page }
            position = found.position(after: last)
            if page.hits.count == query.limit { break }
        }
        page.next = position.map { SearchCursor($0, of: query, by: .device) }
        return page
    }

    /// The maximum number of index queries that compensate for candidates that don't match.
    private static let rounds = 8

    private func hits(_ matches: [SearchMatch], _ terms: SearchTerms) async throws(ChatError) -> [SearchHit] {
        try await store.read { reader in
            try matches.compactMap { match in
                guard let message = try reader.message(at: match.place), let text = message.searchableText,
                    let ranges = terms.ranges(in: text)
                else { return nil }
                return SearchHit(message: message, ranges: ranges)
            }
        }
    }
}
