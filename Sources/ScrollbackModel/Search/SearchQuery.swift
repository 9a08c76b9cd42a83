/// The order of what is found.
public enum SearchSort: String, CaseIterable, Sendable {
    /// The newest message first.
    case newestFirst
    /// The message that answers best first: words that stand there whole and often, in a short text.
    ///
    /// Of a word that very many messages have, the newest 1,000 of these are compared.
    case bestFirst
}

/// One question for messages that have certain words.
///
/// Everything typed between spaces must be found, and is found where words begin so: `mig data` finds "data migration".
/// What stands in double quotes is found as it is, with whole words. Neither case nor width nor accents matter. There is no
/// other syntax.
public struct SearchQuery: Hashable, Sendable {
    /// What was typed, 1...256 bytes of UTF-8.
    ///
    /// Where it has nothing but punctuation, nothing is found.
    public var text: String
    /// Where to look; without it in every conversation.
    public var conversation: ConversationID?
    /// The order of what is found.
    public var sort: SearchSort
    /// How many messages at most, 1...100.
    public var limit: Int
    /// Where a page of the same question ended: its ``SearchPage/next``.
    public var cursor: SearchCursor?

    /// A question; whoever answers it checks the ranges.
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

    /// How many bytes of UTF-8 may be looked for.
    public static let maximumBytes = 256

    /// Refuses what is out of range; nothing is clamped.
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

/// Where a page of what was found ended.
///
/// Opaque: pass it back as it came, with the same text, conversation and sort, to whom it is from; another one is
/// `invalid-parameter`.
public struct SearchCursor: RawRepresentable, Hashable, Sendable {
    /// A text fit for a URL.
    public let rawValue: String

    /// A cursor that a page gave earlier; it is checked when it is used.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}
