import Foundation
public import ScrollbackModel

extension Recents {
    /// The limits of ``Recents/prefetch(_:)``.
    public struct PrefetchLimits: Hashable, Sendable {
        /// The maximum age of a conversation's last activity in days, 1...36,500.
        public var days: Int
        /// The maximum number of conversations from the top of the list, 1...10,000.
        public var conversations: Int
        /// The number of newest messages to load for each conversation, 1...100.
        public var messages: Int

        /// Creates limits; the defaults are 7 days, 100 conversations, and 100 messages of each.
        public init(days: Int = 7, conversations: Int = 100, messages: Int = 100) {
            self.days = days
            self.conversations = conversations
            self.messages = messages
        }
    }

    /// Loads the newest messages of recently active conversations, so that they are available offline.
    ///
    /// A new device does not load them by itself: the list contains each conversation's last message, and history is
    /// loaded on demand. To load more, call this method after ``RecentsEvent/loadedAll``.
    ///
    /// Messages that are already stored are not loaded again, nor are messages excluded by
    /// ``excludeFromNewDevices(_:)``. Chat rooms are never loaded. If the call is cancelled or the connection is lost,
    /// the loaded messages stay, and the
    /// next call continues.
    ///
    /// - Returns: The number of conversations for which messages were loaded.
    /// - Throws: `invalid-parameter` if a limit is out of range. `unreachable` or another error of the server.
    ///   `local-storage` or `cancelled`.
    @discardableResult
    public func prefetch(_ limits: PrefetchLimits = .init()) async throws(ChatError) -> Int {
        try Self.check(limits.days, "days", in: 1...RetentionPolicy.maximumDays)
        try Self.check(limits.conversations, "conversations", in: 1...10_000)
        try Self.check(limits.messages, "messages", in: 1...100)
        let start = Timetoken(core.clock().addingTimeInterval(-Double(limits.days) * 86_400))
        let wanted = try await core.store.read { reader in
            try reader.recents(limit: limits.conversations)
                .filter { $0.place.sortTime >= Int64(bitPattern: start.rawValue) }
                .compactMap { entry in
                    try reader.seqBeforeMissing(among: limits.messages, of: entry.id).map { (entry.id, $0) }
                }
        }
        for (id, place) in wanted {
            guard !Task.isCancelled else { throw ChatError(.cancelled, "The task that loads messages was cancelled.") }
            _ = try await conversation(id).history(
                .after(place: place), limit: limits.messages, sort: .oldestFirst, from: .remote)
        }
        return wanted.count
    }

    private static func check(_ value: Int, _ name: String, in range: ClosedRange<Int>) throws(ChatError) {
        guard range.contains(value) else {
            throw .invalidParameter(name, "must be in \(range)", limit: range.upperBound)
        }
    }
}
