/// A message that has what was looked for.
public struct SearchHit: Hashable, Sendable {
    /// The message as it is now.
    public var message: Message
    /// Where in its ``Message/searchableText`` the words stand, in bytes of UTF-8: rising, apart from each other, from
    /// character to character as readers see them.
    public var ranges: [Range<Int>]

    /// A hit with all that is known of it.
    public init(message: Message, ranges: [Range<Int>]) {
        self.message = message
        self.ranges = ranges
    }

    /// The text the ranges are in.
    public var text: String { message.searchableText ?? "" }

    /// The ranges as places in ``text``, for an attributed string; what is no place in it is left out.
    public var highlights: [Range<String.Index>] {
        let text = text
        return ranges.compactMap { range in
            guard range.lowerBound >= 0, range.upperBound <= text.utf8.count else { return nil }
            let lower = text.utf8.index(text.startIndex, offsetBy: range.lowerBound)
            let upper = text.utf8.index(text.startIndex, offsetBy: range.upperBound)
            return lower..<upper
        }
    }
}

/// A page of what was found.
public struct SearchPage: Sendable {
    /// In the order that was asked for.
    public var hits: [SearchHit]
    /// Goes on to what else there is; absent exactly where there is no more.
    ///
    /// A page that has one may have fewer hits than asked for, even none.
    public var next: SearchCursor?
    /// Whether the server is still reading what is there, after an upgrade or when its index was lost: the same question
    /// finds more later.
    public var isIndexing: Bool
    /// Why the server could not be asked: the page has what this device has.
    public var shortfall: ChatError?

    /// A page with all that belongs to it.
    public init(
        hits: [SearchHit], next: SearchCursor?, isIndexing: Bool = false, shortfall: ChatError? = nil
    ) {
        self.hits = hits
        self.next = next
        self.isIndexing = isIndexing
        self.shortfall = shortfall
    }
}
