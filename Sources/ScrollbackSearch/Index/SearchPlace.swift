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

    package init(conversation: Int64, places: SeqRange = 1...SearchKey.lastSeq) {
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

/// The key of a message's row: the conversation's number before the place, so that a conversation is one run of keys.
package enum SearchKey {
    /// 36 bits of place leave 27 for the conversation: 69 billion messages in each of 134 million.
    private static let bits: Int64 = 36
    package static let lastSeq: Seq = 1 << bits - 1
    static let lastConversation: Int64 = 1 << (63 - bits) - 1

    static func key(_ conversation: Int64, _ seq: Seq) -> Int64 {
        min(max(conversation, 0), lastConversation) << bits | min(max(seq, 0), lastSeq)
    }

    static func keys(_ scope: SearchScope) -> ClosedRange<Int64> {
        key(scope.conversation, scope.places.lowerBound)...key(scope.conversation, scope.places.upperBound)
    }

    static func conversation(_ key: Int64) -> Int64 { key >> bits }
    static func seq(_ key: Int64) -> Seq { key & lastSeq }

    /// 64 bits without a sign, in the order of a column that has one.
    static func column(_ time: Timetoken) -> Int64 { Int64(bitPattern: time.rawValue ^ 1 << 63) }
    static func time(_ column: Int64) -> Timetoken { Timetoken(rawValue: UInt64(bitPattern: column) ^ 1 << 63) }
}
