/// A message that matches a search.
public struct SearchHit: Hashable, Sendable {
    /// The message as it is now.
    public var message: Message
    /// The matches in ``Message/searchableText``, as offsets in bytes of UTF-8.
    ///
    /// The ranges are ascending, don't overlap, and start and end at grapheme boundaries.
    public var ranges: [Range<Int>]

    /// Creates a hit.
    public init(message: Message, ranges: [Range<Int>]) {
        self.message = message
        self.ranges = ranges
    }

    /// The text that the ranges refer to.
    public var text: String { message.searchableText ?? "" }

    /// The ranges as string indices in ``text``, for an attributed string; invalid ranges are omitted.
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

/// A page of search results.
public struct SearchPage: Sendable {
    /// The hits in the requested order.
    public var hits: [SearchHit]
    /// The cursor for the next page; `nil` if no further hits exist.
    ///
    /// A page with a cursor can have fewer hits than requested, or none.
    public var next: SearchCursor?
    /// Whether the server is still building its index, for example after an upgrade.
    ///
    /// The same query finds more later.
    public var isIndexing: Bool
    /// The reason why the server could not be reached; the page then has only the hits on this device.
    public var remoteError: ChatError?

    /// Creates a page.
    public init(
        hits: [SearchHit], next: SearchCursor?, isIndexing: Bool = false, remoteError: ChatError? = nil
    ) {
        self.hits = hits
        self.next = next
        self.isIndexing = isIndexing
        self.remoteError = remoteError
    }
}
