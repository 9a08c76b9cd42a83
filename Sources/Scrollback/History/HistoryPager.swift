public import ScrollbackModel
import Synchronization

/// Reads a conversation's history page by page, and remembers its place.
///
/// It begins anew with each pager; pagers share nothing. One page is read at a time: a call while another is under way is
/// refused. After an error, or a cancelled task, the place is what it was, and the same page is tried again.
public final class HistoryPager: Sendable {
    private struct State {
        var anchor: Anchor?
        var isLoading = false
    }

    private let conversation: Conversation
    private let first: Anchor
    private let limit: Int
    private let sort: Sort
    private let filter: MessageFilter
    private let source: HistorySource
    private let goesNewer: Bool
    private let state: Mutex<State>

    init(
        _ conversation: Conversation, from anchor: Anchor, limit: Int, sort: Sort, matching filter: MessageFilter,
        source: HistorySource
    ) {
        self.conversation = conversation
        first = anchor
        self.limit = limit
        self.sort = sort
        self.filter = filter
        self.source = source
        goesNewer =
            switch anchor {
            case .after, .between: true
            case .before, .around, .backward, .cursor: false
            }
        state = Mutex(State(anchor: anchor))
    }

    /// Whether there may be more to read: true until a page showed the end.
    public var hasNext: Bool { state.withLock { $0.anchor != nil } }

    /// Whether a page is being read.
    public var isLoading: Bool { state.withLock { $0.isLoading } }

    /// The next page; an empty one past the end.
    ///
    /// A page may be empty, or have fewer messages than the limit, though there are more: ``hasNext`` says.
    ///
    /// - Throws: `query-in-progress` while another call is under way; what ``Conversation/history(_:limit:sort:matching:from:)``
    ///   throws; what kept a merged page from being whole.
    public func next() async throws(ChatError) -> [Message] {
        if case .cursor = first {
            throw .invalidParameter("anchor", "is a cursor, which does not say which way it goes: begin at a point")
        }
        guard let anchor = try begin() else { return [] }
        // Where it fails the place stays as it was.
        var place: Anchor? = anchor
        defer { state.withLock { $0 = State(anchor: place) } }
        let page = try await conversation.history(anchor, limit: limit, sort: sort, matching: filter, from: source)
        if let shortfall = page.shortfall { throw shortfall }
        place = goesNewer ? page.newer : page.older
        return page.messages
    }

    private func begin() throws(ChatError) -> Anchor? {
        let begun: (anchor: Anchor?, wasLoading: Bool) = state.withLock { state in
            if state.isLoading { return (nil, true) }
            state.isLoading = state.anchor != nil
            return (state.anchor, false)
        }
        guard !begun.wasLoading else {
            throw ChatError(.queryInProgress, "a page is being read: wait for it before asking for the next")
        }
        return begun.anchor
    }
}

extension Conversation {
    /// Reads history page by page: the pager remembers its place.
    ///
    /// - Parameters:
    ///   - anchor: where it begins and which way it goes; by default from the newest message to older. After `around` it goes
    ///     to older. A page's cursor does not say which way it goes: `invalid-parameter`.
    ///   - limit: how many messages a page has, 0...100.
    ///   - sort: the order in each page, whichever way the pages go.
    ///   - filter: which messages are wanted; the limit counts only those.
    ///   - source: the device, the server, or the device first and the server for what is missing there.
    public func pager(
        from anchor: Anchor = .latest, limit: Int = 20, sort: Sort = .oldestFirst,
        matching filter: MessageFilter = .all, source: HistorySource = .merged
    ) -> HistoryPager {
        HistoryPager(self, from: anchor, limit: limit, sort: sort, matching: filter, source: source)
    }
}
