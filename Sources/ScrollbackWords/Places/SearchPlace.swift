package import ScrollbackModel

/// A message in the index, by where it stands in its log and when it was said.
///
/// Places are ordered by time, and where two conversations share one by their numbers.
package struct SearchPlace: Hashable, Comparable, Sendable {
    package var time: Timetoken
    /// The conversation's short name in its store.
    package var conversation: Int64
    package var seq: Seq

    package init(time: Timetoken, conversation: Int64, seq: Seq) {
        self.time = time
        self.conversation = conversation
        self.seq = seq
    }

    package static func < (a: SearchPlace, b: SearchPlace) -> Bool {
        (a.time, a.conversation, a.seq) < (b.time, b.conversation, b.seq)
    }
}

/// A message that has what is looked for.
package struct SearchMatch: Hashable, Comparable, Sendable {
    package var place: SearchPlace
    /// How well it answers; 0 where that was not asked.
    package var score: Int64

    package init(place: SearchPlace, score: Int64) {
        self.place = place
        self.score = score
    }

    package static func < (a: SearchMatch, b: SearchMatch) -> Bool { (a.score, a.place) < (b.score, b.place) }
}

/// Matches of a question, in the order that was asked for.
package struct SearchMatches: Hashable, Sendable {
    package var matches: [SearchMatch] = []
    /// The newest match when the question was asked first.
    package var newest: SearchPlace?
    /// Whether there may be more after these.
    package var isFull = false

    package init() {}

    /// Where to go on after one of them.
    package func position(after match: SearchMatch) -> SearchPosition {
        SearchPosition(last: match, newest: newest ?? match.place)
    }
}

/// A run of places to look in.
package struct SearchScope: Hashable, Sendable {
    package var conversation: Int64
    package var places: SeqRange

    /// The highest place an index has room for: 69 billion messages a conversation.
    package static let lastSeq: Seq = 1 << 36 - 1

    package init(conversation: Int64, places: SeqRange = 1...lastSeq) {
        self.conversation = conversation
        self.places = places
    }
}

/// Where the pages of one question go on.
package struct SearchPosition: Hashable, Sendable {
    /// The last match of the page before.
    package var last: SearchMatch
    /// The newest match when the question was asked first.
    package var newest: SearchPlace

    package init(last: SearchMatch, newest: SearchPlace) {
        self.last = last
        self.newest = newest
    }
}
