package import Foundation
package import ScrollbackModel

/// What the server is told of this user's typing: that it began, that it goes on, every few seconds, and that it ended, by
/// itself where nobody says so.
package struct OwnTyping: Hashable, Sendable {
    private struct Entry: Hashable {
        var toldAt: Date
        var typedAt: Date
    }

    /// How often, in seconds, the server is told that it goes on.
    package static let interval: TimeInterval = 3
    /// How long after the last key, in seconds, it has ended.
    package static let patience: TimeInterval = 5

    private var entries: [ConversationID: Entry] = [:]

    package init() {}

    /// The user typed.
    ///
    /// - Returns: whether the server is to be told.
    package mutating func typed(in id: ConversationID, now: Date) -> Bool {
        guard var entry = entries[id] else {
            entries[id] = Entry(toldAt: now, typedAt: now)
            return true
        }
        entry.typedAt = now
        let isDue = now.timeIntervalSince(entry.toldAt) >= Self.interval
        if isDue { entry.toldAt = now }
        entries[id] = entry
        return isDue
    }

    /// The user stopped.
    ///
    /// - Returns: whether the server is to be told.
    package mutating func stopped(in id: ConversationID) -> Bool {
        entries.removeValue(forKey: id) != nil
    }

    /// A message says by itself that nobody types it any more.
    package mutating func sent(to id: ConversationID) {
        entries[id] = nil
    }

    /// Time has passed.
    ///
    /// - Returns: where the user has typed nothing for so long that they have stopped.
    package mutating func tick(now: Date) -> [ConversationID] {
        let quiet = entries.filter { now.timeIntervalSince($0.value.typedAt) >= Self.patience }.keys.sorted()
        for id in quiet { entries[id] = nil }
        return quiet
    }

    /// When to look at the time again.
    package var next: Date? { entries.values.map { $0.typedAt + Self.patience }.min() }
}
