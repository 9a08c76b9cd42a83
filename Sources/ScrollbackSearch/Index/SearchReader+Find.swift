import GRDB
package import ScrollbackModel
package import TextAnalysis

extension SearchReader {
    /// The maximum number of matches in the whole index that are read at once.
    static let probeLimit = 2000

    /// Returns the next matches of a query.
    ///
    /// Sorted by newest first, a frequent word costs no more than a rare one. Conversations are searched in the order
    /// of their newest messages, so a frequent word is found quickly. Sorted by best first, the result has the best of
    /// the newest ``SearchTerms/candidateLimit`` matches at the time of the first page.
    ///
    /// - Parameters:
    ///   - terms: The search terms.
    ///   - scopes: The disjoint ranges to search; `nil` for everything.
    ///   - sort: The order of the matches.
    ///   - position: The end of the previous page.
    ///   - limit: The maximum number of matches.
    package func find(
        _ terms: SearchTerms, in scopes: [SearchScope]? = nil, sort: SearchSort = .newestFirst,
        after position: SearchPosition? = nil, limit: Int
    ) throws -> SearchMatches {
        var found = SearchMatches()
        guard !terms.isEmpty, limit > 0 else { return found }
        let query = FullTextQuery(
            database: database, expression: terms.expression, scopes: scopes, deadline: deadline)
        switch sort {
        case .newestFirst:
            let places = try query.newest(below: position?.last.place, limit: limit)
            found.matches = places.map { SearchMatch(place: $0, score: 0) }
            found.newest = position?.newest ?? places.first
        case .bestFirst:
            let places = try query.newest(upTo: position?.newest, limit: SearchTerms.candidateLimit)
            let scored = try places.map { place in
                try deadline?.check()
                return SearchMatch(place: place, score: terms.score(of: try words(at: place)))
            }
            let wanted = position.map { position in scored.filter { $0 < position.last } } ?? scored
            found.matches = Array(wanted.sorted(by: >).prefix(limit))
            found.newest = position?.newest ?? places.first
        }
        found.isFull = found.matches.count == limit
        return found
    }

    private func words(at place: IndexPosition) throws -> TokenizedText {
        let statement = try database.cachedStatement(sql: "SELECT words FROM entry WHERE key = ?")
        let key = SearchKey.key(place.conversation, place.seq)
        return TokenizedText(serialized: try String.fetchOne(statement, arguments: [key]) ?? "")
    }
}

/// A query to FTS5 and its scopes.
struct FullTextQuery {
    let database: Database
    let expression: String
    let scopes: [SearchScope]?
    var deadline: WorkDeadline?

    /// The maximum number of scopes that are queried one by one without a probe.
    private static let maximumScopesWithoutProbe = 4

    /// Returns the newest matches, newest first.
    func newest(below end: IndexPosition? = nil, upTo top: IndexPosition? = nil, limit: Int) throws -> [IndexPosition] {
        let bound = Bound(below: end, upTo: top)
        if scopes?.count ?? .max > Self.maximumScopesWithoutProbe, let all = try matchesWithinProbeLimit() {
            return try newest(of: all, bound, limit: limit)
        }
        var found: [IndexPosition] = []
        let newestEntries = try (scopes ?? allScopes()).compactMap { scope in
            try deadline?.check()
            return try newestEntry(in: scope, bound).map { (scope: scope, entry: $0) }
        }
        for (scope, entry) in newestEntries.sorted(by: { $0.entry > $1.entry }) {
            // No match of a conversation is newer than its newest message.
            if found.count == limit, let last = found.last, entry < last { break }
            try deadline?.check()
            found += try matches(in: scope, upTo: entry.seq, limit: limit)
            found = Array(found.sorted(by: >).prefix(limit))
        }
        return found
    }

    /// Bounds for the positions of matches.
    private struct Bound {
        var below: IndexPosition?
        var upTo: IndexPosition?

        func allows(_ place: IndexPosition) -> Bool {
            if let below, place >= below { return false }
            if let upTo, place > upTo { return false }
            return true
        }
    }

    // MARK: Rare words: read all matches

    /// Returns the keys of all matches, or `nil` if there are too many.
    private func matchesWithinProbeLimit() throws -> [Int64]? {
        let statement = try database.cachedStatement(
            sql: "SELECT rowid FROM word WHERE word MATCH ? ORDER BY rowid DESC LIMIT ?")
        let keys = try Int64.fetchAll(statement, arguments: [expression, SearchReader.probeLimit + 1])
        return keys.count > SearchReader.probeLimit ? nil : keys
    }

    /// Returns the newest matches from descending keys.
    private func newest(of keys: [Int64], _ bound: Bound, limit: Int) throws -> [IndexPosition] {
        let wanted = scopes.map { Dictionary(grouping: $0, by: \.conversation) }
        var found: [IndexPosition] = []
        var taken = (conversation: Int64(-1), count: 0)
        for key in keys {
            let (conversation, seq) = (SearchKey.conversation(key), SearchKey.seq(key))
            if conversation != taken.conversation { taken = (conversation, 0) }
            // The newest matches of each conversation are sufficient.
            guard taken.count < limit else { continue }
            if let wanted, wanted[conversation]?.contains(where: { $0.range.contains(seq) }) != true { continue }
            guard let place = try place(key), bound.allows(place) else { continue }
            found.append(place)
            taken.count += 1
        }
        return Array(found.sorted(by: >).prefix(limit))
    }

    private func place(_ key: Int64) throws -> IndexPosition? {
        let statement = try database.cachedStatement(sql: "SELECT time FROM entry WHERE key = ?")
        return try Int64.fetchOne(statement, arguments: [key]).map { Self.place(key, time: $0) }
    }

    private static func place(_ key: Int64, time: Int64) -> IndexPosition {
        IndexPosition(
            time: SearchKey.time(time), conversation: SearchKey.conversation(key), seq: SearchKey.seq(key))
    }

    // MARK: Frequent words: search conversation by conversation

    private func matches(in scope: SearchScope, upTo seq: Seq, limit: Int) throws -> [IndexPosition] {
        let keys = SearchKey.keys(scope)
        let statement = try database.cachedStatement(
            sql: """
                SELECT word.rowid, entry.time FROM word CROSS JOIN entry ON entry.key = word.rowid
                WHERE word MATCH ? AND word.rowid BETWEEN ? AND ? ORDER BY word.rowid DESC LIMIT ?
                """)
        let arguments: StatementArguments = [
            expression, keys.lowerBound, SearchKey.key(scope.conversation, seq), limit,
        ]
        return try Row.fetchAll(statement, arguments: arguments).map { Self.place($0[0], time: $0[1]) }
    }

    /// Returns all conversations in the index, with one seek for each.
    private func allScopes() throws -> [SearchScope] {
        let statement = try database.cachedStatement(sql: "SELECT key FROM entry WHERE key > ? ORDER BY key LIMIT 1")
        var scopes: [SearchScope] = []
        var last: Int64 = -1
        while let key = try Int64.fetchOne(statement, arguments: [last]) {
            scopes.append(SearchScope(conversation: SearchKey.conversation(key)))
            last = SearchKey.key(SearchKey.conversation(key), SearchKey.lastSeq)
        }
        return scopes
    }

    /// Returns the newest message of a scope within the bounds.
    ///
    /// Times increase with sequence numbers, so this is a binary search.
    private func newestEntry(in scope: SearchScope, _ bound: Bound) throws -> IndexPosition? {
        let keys = SearchKey.keys(scope)
        guard let newest = try entry(keys) else { return nil }
        if bound.allows(newest) { return newest }
        var (low, high) = (keys.lowerBound, SearchKey.key(newest.conversation, newest.seq) - 1)
        var found: IndexPosition?
        while low <= high {
            let middle = low + (high - low) / 2
            guard let place = try entry(low...middle) else {
                low = middle + 1
                continue
            }
            if bound.allows(place) {
                found = place
                low = middle + 1
            } else {
                high = SearchKey.key(place.conversation, place.seq) - 1
            }
        }
        return found
    }

    /// Returns the newest message of a range of keys.
    private func entry(_ keys: ClosedRange<Int64>) throws -> IndexPosition? {
        let statement = try database.cachedStatement(
            sql: "SELECT key, time FROM entry WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT 1")
        return try Row.fetchOne(statement, arguments: [keys.lowerBound, keys.upperBound])
            .map { Self.place($0[0], time: $0[1]) }
    }
}
