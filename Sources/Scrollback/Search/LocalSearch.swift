import ScrollbackModel
import ScrollbackSearch
import ScrollbackWords

extension ClientCore {
    /// Finds messages on this device.
    ///
    /// The index proposes; a message is a hit if its row has the words now.
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
            // One more than is wanted tells whether there is more.
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

    /// How often matches that turn out to be none are made up for.
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
