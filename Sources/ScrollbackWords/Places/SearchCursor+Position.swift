package import ScrollbackModel

/// Who gave a cursor: each numbers conversations in its own way.
package enum SearchOrigin: String, Sendable {
    case server, device
}

extension SearchCursor {
    /// Where the pages of a question go on.
    package init(_ position: SearchPosition, of query: SearchQuery, by origin: SearchOrigin) {
        let numbers: [UInt64] = [
            Self.sum(query, origin), UInt64(bitPattern: position.last.score),
            position.last.place.time.rawValue, UInt64(bitPattern: position.last.place.conversation),
            UInt64(bitPattern: position.last.place.seq),
            position.newest.time.rawValue, UInt64(bitPattern: position.newest.conversation),
            UInt64(bitPattern: position.newest.seq),
        ]
        self.init(rawValue: numbers.map { String($0, radix: 36) }.joined(separator: "."))
    }

    /// Reads a cursor back.
    ///
    /// - Throws: `invalid-parameter` when it is no cursor, another question's, or not of this origin.
    package func position(of query: SearchQuery, by origin: SearchOrigin) throws(ChatError) -> SearchPosition {
        let numbers = rawValue.split(separator: ".", omittingEmptySubsequences: false)
            .compactMap { UInt64($0, radix: 36) }
        guard numbers.count == 8, numbers.map({ String($0, radix: 36) }).joined(separator: ".") == rawValue else {
            throw .invalidParameter("cursor", "must be the `next` of a page, as it came")
        }
        guard numbers[0] == Self.sum(query, origin) else {
            throw .invalidParameter(
                "cursor", "is of another question: it goes with its text, conversation, sort and source")
        }
        func place(_ index: Int) -> SearchPlace {
            SearchPlace(
                time: Timetoken(rawValue: numbers[index]), conversation: Int64(bitPattern: numbers[index + 1]),
                seq: Int64(bitPattern: numbers[index + 2]))
        }
        let last = SearchMatch(place: place(2), score: Int64(bitPattern: numbers[1]))
        return SearchPosition(last: last, newest: place(5))
    }

    /// FNV-1a of what a cursor goes with.
    private static func sum(_ query: SearchQuery, _ origin: SearchOrigin) -> UInt64 {
        let text =
            "\(origin.rawValue)\u{0}\(query.sort.rawValue)\u{0}\(query.conversation?.description ?? "")\u{0}\(query.text)"
        return text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
