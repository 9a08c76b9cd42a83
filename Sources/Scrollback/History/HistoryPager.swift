public import ScrollbackModel
import Synchronization

/// Reads a conversation's history page by page, and keeps track of its position.
///
/// Pagers are independent of each other. A pager loads one page at a time and refuses concurrent calls. After an error
/// or a cancelled task its position is unchanged, and the next call loads the same page.
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
    private let readsForward: Bool
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
        readsForward =
            switch anchor {
            case .after, .between: true
            case .before, .around, .backward, .cursor: false
            }
        state = Mutex(State(anchor: anchor))
    }

    /// Whether there may be more messages; `true` until a page reached the end.
    public var hasNext: Bool { state.withLock { $0.anchor != nil } }

    /// Whether a page is being loaded.
    public var isLoading: Bool { state.withLock { $0.isLoading } }

    /// Returns the next page, or an empty array after the last one.
    ///
    /// A page can be empty or shorter than the limit although more messages follow. Check ``hasNext`` to find out. If
    /// the server can't be reached, a merged page has the messages that are stored on this device up to the first gap.
    ///
    /// - Throws: `query-in-progress` during another call. The errors of
    ///   ``Conversation/history(_:limit:sort:matching:from:)``, and the remote error of a merged page without messages.
    ///   Also the remote error of a merged page that reaches this device's newest message while the pager reads toward
    ///   newer ones.
    public func next() async throws(ChatError) -> [Message] {
        if case .cursor = first {
            throw .invalidParameter("anchor", "is a cursor, which has no direction: use another anchor")
        }
        guard let anchor = try begin() else { return [] }
        // After an error the position is unchanged.
        var place: Anchor? = anchor
        defer { state.withLock { $0 = State(anchor: place) } }
        let page = try await conversation.history(anchor, limit: limit, sort: sort, matching: filter, from: source)
        let next = readsForward ? page.newer : page.older
        // A merged page has what the device has, and the next call requests the rest again. Toward newer messages, only
        // the server knows where the end is.
        if let remoteError = page.remoteError, page.messages.isEmpty || readsForward && next == nil {
            throw remoteError
        }
        place = next
        return page.messages
    }

    private func begin() throws(ChatError) -> Anchor? {
        let begun: (anchor: Anchor?, wasLoading: Bool) = state.withLock { state in
            if state.isLoading { return (nil, true) }
            state.isLoading = state.anchor != nil
            return (state.anchor, false)
        }
        guard !begun.wasLoading else {
            throw ChatError(
                .queryInProgress, "Another page is being loaded. Wait for it before requesting the next one.")
        }
        return begun.anchor
    }
}

extension Conversation {
    /// Returns a pager for the conversation's history.
    ///
    /// - Parameters:
    ///   - anchor: The start and the direction; by default from the newest message toward older ones. From `around`,
    ///     the pager continues toward older messages. A page's cursor has no direction and causes `invalid-parameter`.
    ///   - limit: The maximum number of messages in a page, 0...100.
    ///   - sort: The order of messages in each page, independent of the direction.
    ///   - filter: The messages to return; only these count toward the limit.
    ///   - source: The device, the server, or the device supplemented by the server.
    public func pager(
        from anchor: Anchor = .latest, limit: Int = 20, sort: Sort = .oldestFirst,
        matching filter: MessageFilter = .all, source: HistorySource = .merged
    ) -> HistoryPager {
        HistoryPager(self, from: anchor, limit: limit, sort: sort, matching: filter, source: source)
    }
}
