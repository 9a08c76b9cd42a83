public import Observation
public import Scrollback

/// An observable model of the list of recent conversations, which loads the list in pages.
///
/// The model updates until it is deallocated or the client is closed. It combines changes that arrive together into one
/// update, and sets a property only if its value changed.
@MainActor
@Observable
public final class RecentsModel {
    /// Whether the model has loaded its first data from the device; all other properties are empty until then.
    public private(set) var isLoaded = false
    /// The loaded conversations: pinned ones first, then by the newest last message.
    public private(set) var conversations: [RecentConversation] = []
    /// The unread counts of the whole list, regardless of the filter and the loaded pages.
    public private(set) var totals = UnreadTotals()
    /// The known profiles of the conversations' peers and of the last messages' senders.
    public private(set) var profiles: [UserID: UserProfile] = [:]
    /// Whether ``loadMore()`` can load more conversations from this device.
    public private(set) var hasMore = false
    /// Whether the model contains all of the user's conversations that match the filter.
    ///
    /// A new device must receive the list from the server first.
    public var hasLoadedAll: Bool { isLoaded && isComplete && !hasMore }
    /// The error of the last failed call; set it to `nil` after you show it.
    public var error: ChatError?
    /// The filter of the list; setting another filter resets the model to one page.
    public var filter: RecentsFilter {
        didSet {
            guard filter != oldValue else { return }
            window = pageSize
            follow()
        }
    }

    private var isComplete = false
    @ObservationIgnored private let recents: Recents
    @ObservationIgnored private let pageSize: Int
    @ObservationIgnored private var window: Int
    @ObservationIgnored private var following: ModelTask?
    /// Called after the conversations have changed.
    @ObservationIgnored var onChange: () -> Void = {}
    package var running: [Task<Void, Never>] { [following].compactMap { $0?.task } }

    /// Creates a model and starts its updates.
    ///
    /// - Parameters:
    ///   - recents: The list of a client.
    ///   - filter: The conversations to show.
    ///   - pageSize: The number of conversations in a page; at least 1, otherwise the initializer traps.
    public init(_ recents: Recents, filter: RecentsFilter = .all, pageSize: Int = 50) {
        precondition(pageSize >= 1, "The page size must be at least 1.")
        self.recents = recents
        self.filter = filter
        self.pageSize = pageSize
        window = pageSize
        follow()
    }

    private func follow() {
        // The additional conversation shows whether more exist.
        let views = recents.views(limit: window + 1, matching: filter)
        following = ModelTask(of: self, following: views) { $0.show($1) }
    }

    private func show(_ view: Recents.View) {
        if !isLoaded { isLoaded = true }
        let shown = Array(view.conversations.prefix(window))
        let isChanged = conversations != shown
        if isChanged { conversations = shown }
        if totals != view.totals { totals = view.totals }
        if profiles != view.profiles { profiles = view.profiles }
        if isComplete != view.isComplete { isComplete = view.isComplete }
        let hasMore = view.conversations.count > window
        if self.hasMore != hasMore { self.hasMore = hasMore }
        if isChanged { onChange() }
    }

    /// Loads another page; has no effect if there is none.
    ///
    /// - Throws: `local-storage`, in which case the list doesn't change.
    public func loadMore() async throws(ChatError) {
        guard hasMore else { return }
        let wanted = (window: window + pageSize, filter: filter)
        let view = try await reportingErrors { () async throws(ChatError) in
            try await recents.view(limit: wanted.window + 1, matching: wanted.filter)
        }
        // Another call may have finished first, or the filter may have changed.
        guard wanted.window > window, wanted.filter == filter else { return }
        window = wanted.window
        show(view)
        follow()
    }

    // MARK: Actions

    /// Pins a conversation to the top of the list, or unpins it, on all devices of the user.
    ///
    /// - Throws: `invalid-parameter` if conversations of this kind have no list entry; `local-storage`.
    public func setPinned(_ isPinned: Bool, _ id: ConversationID) async throws(ChatError) {
        try await reportingErrors { () async throws(ChatError) in
            try await recents.conversation(id).setPinned(isPinned)
        }
    }

    /// Mutes or unmutes a conversation on all devices of the user.
    ///
    /// - Throws: `invalid-parameter` if conversations of this kind have no list entry; `local-storage`.
    public func setMuted(_ isMuted: Bool, _ id: ConversationID) async throws(ChatError) {
        try await reportingErrors { () async throws(ChatError) in
            try await recents.conversation(id).setMuted(isMuted)
        }
    }

    /// Marks conversations as read on all devices of the user.
    ///
    /// - Returns: The conversations that were not marked, because this device doesn't know them.
    /// - Throws: `invalid-parameter` for a room; `local-storage`.
    @discardableResult
    public func markRead(_ ids: [ConversationID]) async throws(ChatError) -> [ConversationID] {
        try await reportingErrors { () async throws(ChatError) in try await recents.markRead(ids) }
    }

    /// Marks all conversations as read, or all conversations of a kind.
    ///
    /// - Throws: `local-storage`.
    public func markAllRead(of kind: ConversationKind? = nil) async throws(ChatError) {
        try await reportingErrors { () async throws(ChatError) in try await recents.markAllRead(of: kind) }
    }

    /// Marks a conversation as unread on all devices of the user, until its next read.
    ///
    /// - Throws: `invalid-parameter` if conversations of this kind have no list entry; `local-storage`.
    public func markUnread(_ id: ConversationID) async throws(ChatError) {
        try await reportingErrors { () async throws(ChatError) in try await recents.conversation(id).markUnread() }
    }

    /// Removes a conversation from the list on all devices of the user, until a new message arrives.
    ///
    /// - Throws: `local-storage`.
    public func remove(
        _ id: ConversationID, options: Recents.RemovalOptions = .init()
    ) async throws(ChatError) {
        _ = try await reportingErrors { () async throws(ChatError) in try await recents.remove(id, options: options) }
    }

    private func reportingErrors<Answer>(
        _ body: () async throws(ChatError) -> Answer
    ) async throws(ChatError) -> Answer {
        do {
            return try await body()
        } catch {
            // A cancelled call is not an error that the user needs to see.
            if error.code != .cancelled { self.error = error }
            throw error
        }
    }
}
