import Foundation
public import ScrollbackModel

extension Recents {
    /// How much ``Recents/prefetch(_:)`` loads.
    public struct PrefetchLimits: Hashable, Sendable {
        /// Only conversations in which something was said within so many days, 1...36,500.
        public var days: Int
        /// Only so many conversations from the top of the list, 1...10,000.
        public var conversations: Int
        /// The newest messages of each, 1...100.
        public var messages: Int

        /// What the vendors call roaming: 7 days, 100 conversations, 100 messages of each (row 224).
        public init(days: Int = 7, conversations: Int = 100, messages: Int = 100) {
            self.days = days
            self.conversations = conversations
            self.messages = messages
        }
    }

    /// Loads the newest messages of the conversations that were active lately, so that they are there offline too.
    ///
    /// A new device loads none by itself: the list has each conversation's last message, and history comes when somebody
    /// looks at it. Call this after ``RecentsEvent/loadedAll`` where your app wants more. What is here already is not
    /// loaded again, nor what was said before ``stopRoaming(_:)``; chatrooms are not in the list, and never loaded. Where it
    /// is cancelled or the connection is lost, what was loaded stays, and the next call goes on.
    ///
    /// - Returns: how many conversations something was loaded of.
    /// - Throws: `invalid-parameter` for a limit out of its range; `unreachable` and whatever else the server says;
    ///   `local-storage`; `cancelled`.
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
                    try reader.placeBeforeMissing(among: limits.messages, of: entry.id).map { (entry.id, $0) }
                }
        }
        for (id, place) in wanted {
            guard !Task.isCancelled else { throw ChatError(.cancelled, "the task that loads was cancelled") }
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
