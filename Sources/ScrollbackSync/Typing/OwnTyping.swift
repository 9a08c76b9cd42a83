package import Foundation
package import ScrollbackModel

/// The state machine for sending this user's typing status.
///
/// The client notifies the server when typing starts, every few seconds while it continues, and when it ends. Typing
/// also ends by itself after a timeout.
package struct OwnTyping: Hashable, Sendable {
    private struct Entry: Hashable {
        var notifiedAt: Date
        var typedAt: Date
    }

    /// The interval in seconds between notifications while typing continues.
    package static let interval: TimeInterval = 3
    /// The time in seconds after the last keystroke when typing ends.
    package static let timeout: TimeInterval = 5

    private var entries: [ConversationID: Entry] = [:]

    package init() {}

    /// Records that the user typed.
    ///
    /// - Returns: Whether to notify the server.
    package mutating func typed(in id: ConversationID, now: Date) -> Bool {
        guard var entry = entries[id] else {
            entries[id] = Entry(notifiedAt: now, typedAt: now)
            return true
        }
        entry.typedAt = now
        let isDue = now.timeIntervalSince(entry.notifiedAt) >= Self.interval
        if isDue { entry.notifiedAt = now }
        entries[id] = entry
        return isDue
    }

    /// Records that the user stopped typing.
    ///
    /// - Returns: Whether to notify the server.
    package mutating func stopped(in id: ConversationID) -> Bool {
        entries.removeValue(forKey: id) != nil
    }

    /// Ends typing because a message was sent, which itself shows that typing ended.
    package mutating func sent(to id: ConversationID) {
        entries[id] = nil
    }

    /// Handles the passing of time.
    ///
    /// - Returns: The conversations in which typing timed out.
    package mutating func tick(now: Date) -> [ConversationID] {
        let quiet = entries.filter { now.timeIntervalSince($0.value.typedAt) >= Self.timeout }.keys.sorted()
        for id in quiet { entries[id] = nil }
        return quiet
    }

    /// The time of the next timeout.
    package var next: Date? { entries.values.map { $0.typedAt + Self.timeout }.min() }
}
