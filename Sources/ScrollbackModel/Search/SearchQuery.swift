/// The order of search results.
public enum SearchSort: String, CaseIterable, Sendable {
    /// The newest message first.
    case newestFirst
    /// The best match first, by whole words, frequency and short text.
    ///
    /// For very frequent words, only the newest 1,000 matching messages are compared.
    case bestFirst
}

/// A query for messages that contain certain words.
///
/// All terms between spaces must match, and each matches the start of a word: `mig data` finds "data migration". A term
/// in double quotes matches whole words exactly. Matching ignores case, width and accents. No other syntax exists.
public struct SearchQuery: Hashable, Sendable {
    /// The search text, 1...256 bytes of UTF-8.
    ///
    /// A text that consists of punctuation matches nothing.
    public var text: String
    /// The conversation to search; `nil` for all conversations.
    public var conversation: ConversationID?
    /// The order of the results.
    public var sort: SearchSort
    /// The maximum number of messages, 1...100.
    public var limit: Int
    /// The cursor of the previous page (``SearchPage/next``).
    public var cursor: SearchCursor?

    /// Creates a query; the ranges are checked when it is executed.
    public init(
        _ text: String, in conversation: ConversationID? = nil, sort: SearchSort = .newestFirst, limit: Int = 20,
        after cursor: SearchCursor? = nil
    ) {
        self.text = text
        self.conversation = conversation
        self.sort = sort
        self.limit = limit
        self.cursor = cursor
    }

    /// The maximum length of the search text in bytes of UTF-8.
    public static let maximumBytes = 256

    /// Validates the ranges; values are never clamped.
    ///
    /// - Throws: `invalid-parameter` if a value is out of range.
    package func check(pageSize: Int) throws(ChatError) {
        guard (1...Self.maximumBytes).contains(text.utf8.count) else {
            throw .invalidParameter(
                "text", "must have 1...\(Self.maximumBytes) bytes of UTF-8", limit: Self.maximumBytes)
        }
        guard (1...pageSize).contains(limit) else {
            throw .invalidParameter("limit", "must be in 1...\(pageSize)", limit: pageSize)
        }
    }
}

/// A cursor with which a search continues.
///
/// The cursor is opaque: pass it back unchanged to its source, with the same text, conversation and sort. Any other
/// cursor fails with `invalid-parameter`.
public struct SearchCursor: RawRepresentable, Hashable, Sendable {
    /// The text of the cursor, which is safe in URLs.
    public let rawValue: String

    /// Creates a cursor from the text of an earlier page; it is checked when it is used.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}
