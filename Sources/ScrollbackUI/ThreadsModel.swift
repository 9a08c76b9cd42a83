public import Observation
public import Scrollback

/// An observable model of the threads of one conversation.
///
/// The model first shows the threads whose first message is stored on this device, and loads the others in pages from
/// the server. It shows changes that arrive on this device at once. It updates until it is deallocated or the client is
/// closed.
@MainActor
@Observable
public final class ThreadsModel {
    /// The conversation whose threads the model shows.
    public nonisolated let conversation: Conversation
    /// Whether the model shows only the threads that the user follows.
    public nonisolated let isFollowed: Bool
    /// The loaded threads, those with the newest reply first.
    public private(set) var threads: [MessageThread] = []
    /// Whether ``loadMore()`` can load more threads.
    public private(set) var hasMore = true
    /// Whether a page is being loaded.
    public private(set) var isLoading = false
    /// The error of the last failed call, or the one that prevented loading from the server; set it to `nil` after you
    /// show it.
    public var error: ChatError?

    @ObservationIgnored private let pageSize: Int
    /// The pages that were loaded from the server.
    @ObservationIgnored private var loaded: [MessageThread] = []
    @ObservationIgnored private var next: Timetoken?
    /// The lowest ``ThreadPage/followedAfter`` of the pages.
    @ObservationIgnored private var followedAfter: Int64?
    /// The number of updates that began; only the newest one is shown.
    @ObservationIgnored private var updates = 0
    @ObservationIgnored private var following: ModelTask?
    package var running: [Task<Void, Never>] { [following].compactMap { $0?.task } }

    /// Creates a model and starts its updates; call ``reload()`` to load the first page from the server.
    ///
    /// - Parameters:
    ///   - conversation: The conversation whose threads to show.
    ///   - isFollowed: Whether to show only the threads that the user follows.
    ///   - pageSize: The number of threads in a page, 1...100; otherwise the initializer traps.
    public init(_ conversation: Conversation, followed isFollowed: Bool = false, pageSize: Int = 20) {
        precondition((1...100).contains(pageSize), "The page size must be in 1...100.")
        self.conversation = conversation
        self.isFollowed = isFollowed
        self.pageSize = pageSize
        followedAfter = isFollowed ? -1 : nil
        following = ModelTask(of: self, following: conversation.changes) { model, _ in
            Task { await model.update() }
        }
    }

    /// Loads the first page, which replaces the loaded threads; has no effect while a page is being loaded.
    ///
    /// - Throws: As for ``Conversation/threads(followed:after:limit:)``.
    public func reload() async throws(ChatError) {
        try await load(after: nil)
    }

    /// Loads the next page; has no effect if there is none, or while a page is being loaded.
    ///
    /// - Throws: As for ``Conversation/threads(followed:after:limit:)``.
    public func loadMore() async throws(ChatError) {
        guard hasMore else { return }
        try await load(after: next)
    }

    private func load(after last: Timetoken?) async throws(ChatError) {
        guard !isLoading else { return }
        isLoading = true
        defer { isLoading = false }
        let page = try await reportingErrors { () async throws(ChatError) in
            try await conversation.threads(followed: isFollowed, after: last, limit: pageSize)
        }
        if let error = page.remoteError { self.error = error }
        next = page.next
        if hasMore != (next != nil) { hasMore = next != nil }
        loaded = (last == nil ? [] : loaded) + page.threads
        followedAfter = page.followedAfter.map { last == nil ? $0 : min($0, followedAfter ?? $0) }
        await update()
    }

    /// Shows the loaded threads and those of the device, in their current state.
    private func update() async {
        updates += 1
        let update = updates
        let limit = max(pageSize, loaded.count + 1)
        guard
            let current = try? await conversation.current(
                loaded, followedAfter: followedAfter, through: next, limit: limit),
            update == updates, threads != current
        else { return }
        threads = current
    }

    // MARK: Actions

    /// Follows a thread, or stops following it.
    ///
    /// - Throws: `local-storage`.
    public func setFollowed(_ isFollowed: Bool, _ thread: MessageID) async throws(ChatError) {
        _ = try await reportingErrors { () async throws(ChatError) in
            isFollowed
                ? try await conversation.followThread(of: thread) : try await conversation.unfollowThread(of: thread)
        }
    }

    /// Marks the replies of a thread as read on all devices of the user.
    ///
    /// - Throws: `local-storage`.
    public func markRead(_ thread: MessageID) async throws(ChatError) {
        _ = try await reportingErrors { () async throws(ChatError) in
            try await conversation.markThreadRead(of: thread)
        }
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
