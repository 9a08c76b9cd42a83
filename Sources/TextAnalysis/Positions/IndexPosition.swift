package import ScrollbackModel

/// The position of a message in the index.
///
/// Positions are ordered by time, then by conversation number.
package struct IndexPosition: Hashable, Comparable, Sendable {
    package var time: Timetoken
    /// The number of the conversation in its store.
    package var conversation: Int64
    package var seq: Seq

    package init(time: Timetoken, conversation: Int64, seq: Seq) {
        self.time = time
        self.conversation = conversation
        self.seq = seq
    }

    package static func < (a: IndexPosition, b: IndexPosition) -> Bool {
        (a.time, a.conversation, a.seq) < (b.time, b.conversation, b.seq)
    }
}

/// A message that matches a search.
package struct SearchMatch: Hashable, Comparable, Sendable {
    package var place: IndexPosition
    /// The relevance; 0 if the query does not sort by it.
    package var score: Int64

    package init(place: IndexPosition, score: Int64) {
        self.place = place
        self.score = score
    }

    package static func < (a: SearchMatch, b: SearchMatch) -> Bool { (a.score, a.place) < (b.score, b.place) }
}

/// The matches of a query in the requested order.
package struct SearchMatches: Hashable, Sendable {
    package var matches: [SearchMatch] = []
    /// The newest match at the time of the first page.
    package var newest: IndexPosition?
    /// Whether further matches may exist.
    package var isFull = false

    package init() {}

    /// Returns the position after a match.
    package func position(after match: SearchMatch) -> SearchPosition {
        SearchPosition(last: match, newest: newest ?? match.place)
    }
}

/// A range of sequence numbers to search.
package struct SearchScope: Hashable, Sendable {
    package var conversation: Int64
    package var range: SeqRange

    /// The highest sequence number that the index supports: 69 billion messages per conversation.
    package static let lastSeq: Seq = 1 << 36 - 1

    package init(conversation: Int64, range: SeqRange = 1...lastSeq) {
        self.conversation = conversation
        self.range = range
    }
}

/// The position at which the next page of a query continues.
package struct SearchPosition: Hashable, Sendable {
    /// The last match of the previous page.
    package var last: SearchMatch
    /// The newest match at the time of the first page.
    package var newest: IndexPosition

    package init(last: SearchMatch, newest: IndexPosition) {
        self.last = last
        self.newest = newest
    }
}
