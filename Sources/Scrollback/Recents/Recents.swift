public import ScrollbackModel

/// The list of recent conversations and the unread counts.
public struct Recents: Sendable {
    let core: ClientCore

    /// The list at one moment.
    public struct View: Hashable, Sendable {
        /// Newest first, pinned ones before.
        public var conversations: [RecentConversation]
        /// Unread messages of all conversations, those beyond the list too.
        public var totalUnread: Int64
    }

    /// The list, and again whenever it changed.
    ///
    /// - Parameter limit: how many conversations, 1 or more; with less there are no views.
    /// - Returns: a sequence that begins with the list as it is, keeps only the newest while nobody takes it, and ends
    ///   when the client is closed.
    public func views(limit: Int = 100) -> AsyncStream<View> {
        let (stream, continuation) = AsyncStream.makeStream(of: View.self, bufferingPolicy: .bufferingNewest(1))
        let changes = core.changes.changes(of: .recents)
        let task = Task { [self] in
            var last: View?
            for await _ in changes {
                guard let view = try? await view(limit: limit) else { break }
                if view != last { continuation.yield(view) }
                last = view
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    /// The list now.
    ///
    /// - Parameter limit: how many conversations, 1 or more.
    /// - Returns: the newest conversations, and the count of all.
    /// - Throws: `invalid-parameter` when the limit is below 1; `local-storage`.
    public func view(limit: Int = 100) async throws(ChatError) -> View {
        guard limit >= 1 else { throw .invalidParameter("limit", "must be 1 or above") }
        return try await core.store.read { reader in
            View(conversations: try reader.recents(limit: limit), totalUnread: try reader.totalUnread())
        }
    }
}
