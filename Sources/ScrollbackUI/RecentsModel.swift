public import Observation
public import Scrollback

/// The list of recent conversations for a screen, kept current, which grows by pages.
///
/// It follows the list from when it is made until nobody has it any more, or the client is closed. Many changes that come at
/// once are one update, and a property is set only where it changed.
@MainActor
@Observable
public final class RecentsModel {
    /// Whether anything was read from the device yet; until then everything else is empty.
    public private(set) var isLoaded = false
    /// As many as were asked for, pinned ones first, then newest first.
    public private(set) var conversations: [RecentConversation] = []
    /// What is unread in all conversations of the list, whatever the filter and those that are not shown too.
    public private(set) var totals = UnreadTotals()
    /// Whether ``loadMore()`` would show more of what this device knows.
    public private(set) var hasMore = false
    /// Whether every conversation of the user that the filter lets pass is shown; a new device has to hear of them first.
    public var isLoadedAll: Bool { isLoaded && isWhole && !hasMore }
    /// Why a call failed last; set it to nil once it was shown.
    public var error: ChatError?
    /// Which conversations are wanted; another filter begins with one page again.
    public var filter: RecentsFilter {
        didSet {
            guard filter != oldValue else { return }
            window = pageSize
            follow()
        }
    }

    private var isWhole = false
    @ObservationIgnored private let recents: Recents
    @ObservationIgnored private let pageSize: Int
    @ObservationIgnored private var window: Int
    @ObservationIgnored private var following: ModelTask?
    package var running: [Task<Void, Never>] { [following].compactMap { $0?.task } }

    /// A model of the list, which begins to follow it.
    ///
    /// - Parameters:
    ///   - recents: a client's list.
    ///   - filter: which conversations.
    ///   - pageSize: how many are shown at first and how many each ``loadMore()`` adds; 1 or more, else it traps.
    public init(_ recents: Recents, filter: RecentsFilter = .all, pageSize: Int = 50) {
        precondition(pageSize >= 1, "a page holds at least 1 conversation")
        self.recents = recents
        self.filter = filter
        self.pageSize = pageSize
        window = pageSize
        follow()
    }

    private func follow() {
        // One more than is shown tells whether there are more.
        let views = recents.views(limit: window + 1, matching: filter)
        following = ModelTask(of: self, following: views) { $0.show($1) }
    }

    private func show(_ view: Recents.View) {
        if !isLoaded { isLoaded = true }
        let shown = Array(view.conversations.prefix(window))
        if conversations != shown { conversations = shown }
        if totals != view.totals { totals = view.totals }
        if isWhole != view.isWhole { isWhole = view.isWhole }
        let hasMore = view.conversations.count > window
        if self.hasMore != hasMore { self.hasMore = hasMore }
    }

    /// Shows another page; does nothing where there is none.
    ///
    /// - Throws: `local-storage`, and then as many are shown as before.
    public func loadMore() async throws(ChatError) {
        guard hasMore else { return }
        let wanted = (window: window + pageSize, filter: filter)
        let view = try await showingErrors { () async throws(ChatError) in
            try await recents.view(limit: wanted.window + 1, matching: wanted.filter)
        }
        // Unless another call was faster, or another list is wanted by now.
        guard wanted.window > window, wanted.filter == filter else { return }
        window = wanted.window
        show(view)
        follow()
    }

    // MARK: What the user does

    /// Pins a conversation before those that are not pinned, or not any more, on every device of the user.
    ///
    /// - Throws: `invalid-parameter` for kinds without a list; `local-storage`.
    public func setPinned(_ isPinned: Bool, _ id: ConversationID) async throws(ChatError) {
        try await showingErrors { () async throws(ChatError) in
            try await recents.conversation(id).setPinned(isPinned)
        }
    }

    /// Mutes a conversation, or not any more, on every device of the user.
    ///
    /// - Throws: `invalid-parameter` for kinds without a list; `local-storage`.
    public func setMuted(_ isMuted: Bool, _ id: ConversationID) async throws(ChatError) {
        try await showingErrors { () async throws(ChatError) in
            try await recents.conversation(id).setMuted(isMuted)
        }
    }

    /// Marks conversations as read, on every device of the user.
    ///
    /// - Returns: those that were not, since this device does not know them.
    /// - Throws: `invalid-parameter` for a room; `local-storage`.
    @discardableResult
    public func markRead(_ ids: [ConversationID]) async throws(ChatError) -> [ConversationID] {
        try await showingErrors { () async throws(ChatError) in try await recents.markRead(ids) }
    }

    /// Marks every conversation as read, or every one of a kind.
    ///
    /// - Throws: `local-storage`.
    public func markAllRead(of kind: ConversationKind? = nil) async throws(ChatError) {
        try await showingErrors { () async throws(ChatError) in try await recents.markAllRead(of: kind) }
    }

    /// Marks a conversation as unread by hand, on every device of the user, until it is read the next time.
    ///
    /// - Throws: `invalid-parameter` for kinds without a list; `local-storage`.
    public func markUnread(_ id: ConversationID) async throws(ChatError) {
        try await showingErrors { () async throws(ChatError) in try await recents.conversation(id).markUnread() }
    }

    /// Takes a conversation out of the list, on every device of the user, until something is said there.
    ///
    /// - Throws: `local-storage`.
    public func remove(
        _ id: ConversationID, options: Recents.RemovalOptions = .init()
    ) async throws(ChatError) {
        _ = try await showingErrors { () async throws(ChatError) in try await recents.remove(id, options: options) }
    }

    private func showingErrors<Answer>(
        _ body: () async throws(ChatError) -> Answer
    ) async throws(ChatError) -> Answer {
        do {
            return try await body()
        } catch {
            // Who cancelled wants no alert about it.
            if error.code != .cancelled { self.error = error }
            throw error
        }
    }
}
