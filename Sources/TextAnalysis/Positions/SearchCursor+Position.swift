package import ScrollbackModel

/// The source of a cursor; each source numbers conversations differently.
package enum SearchOrigin: String, Sendable {
    case server, device
}

extension SearchCursor {
    /// Creates the cursor for a position in the results of a query.
    package init(_ position: SearchPosition, of query: SearchQuery, by origin: SearchOrigin) {
        let numbers: [UInt64] = [
            Self.queryHash(query, origin), UInt64(bitPattern: position.last.score),
            position.last.place.time.rawValue, UInt64(bitPattern: position.last.place.conversation),
            UInt64(bitPattern: position.last.place.seq),
            position.newest.time.rawValue, UInt64(bitPattern: position.newest.conversation),
            UInt64(bitPattern: position.newest.seq),
        ]
        self.init(rawValue: numbers.map { String($0, radix: 36) }.joined(separator: "."))
    }

    /// Decodes a cursor.
    ///
    /// - Throws: `invalid-parameter` if the cursor is malformed, or belongs to another query or origin.
    package func position(of query: SearchQuery, by origin: SearchOrigin) throws(ChatError) -> SearchPosition {
        let numbers = rawValue.split(separator: ".", omittingEmptySubsequences: false)
            .compactMap { UInt64($0, radix: 36) }
        guard numbers.count == 8, numbers.map({ String($0, radix: 36) }).joined(separator: ".") == rawValue else {
            throw .invalidParameter("cursor", "must be an unchanged cursor from a previous page")
        }
        guard numbers[0] == Self.queryHash(query, origin) else {
            throw .invalidParameter(
                "cursor", "belongs to another query; text, conversation, sort and source must be the same")
        }
        func place(_ index: Int) -> IndexPosition {
            IndexPosition(
                time: Timetoken(rawValue: numbers[index]), conversation: Int64(bitPattern: numbers[index + 1]),
                seq: Int64(bitPattern: numbers[index + 2]))
        }
        let last = SearchMatch(place: place(2), score: Int64(bitPattern: numbers[1]))
        return SearchPosition(last: last, newest: place(5))
    }

    /// Returns an FNV-1a hash of the query that a cursor belongs to.
    private static func queryHash(_ query: SearchQuery, _ origin: SearchOrigin) -> UInt64 {
        let text = """
            \(origin.rawValue)\u{0}\(query.sort.rawValue)\u{0}\(query.conversation?.description ?? "")\u{0}\
            \(query.text)
            """
        return text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
