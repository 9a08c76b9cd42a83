package import Foundation
package import ScrollbackModel

/// The users who are typing in each conversation.
package struct TypingUsers: Hashable, Sendable {
    private struct Entry: Hashable {
        var user: UserID
        var until: Date
    }

    /// The time in seconds after which a user counts as no longer typing if no notification arrives.
    package static let lifetime: TimeInterval = 6
    /// The maximum number of users per conversation.
    package static let maximumUsers = 50

    private var entries: [ConversationID: [Entry]] = [:]

    package init() {}

    /// Returns the users who are typing, in the order they started.
    package func users(in id: ConversationID) -> [UserID] { (entries[id] ?? []).map(\.user) }

    /// Handles a typing notification from the server.
    ///
    /// - Returns: Whether the list of typing users changed.
    package mutating func received(_ user: UserID, in id: ConversationID, isTyping: Bool, now: Date) -> Bool {
        guard isTyping else { return messageReceived(from: user, in: id) }
        let until = now + Self.lifetime
        if let index = entries[id]?.firstIndex(where: { $0.user == user }) {
            entries[id]?[index].until = until
            return false
        }
        guard entries[id]?.count ?? 0 < Self.maximumUsers else { return false }
        entries[id, default: []].append(Entry(user: user, until: until))
        return true
    }

    /// Ends a user's typing because their message arrived.
    ///
    /// - Returns: Whether the list of typing users changed.
    package mutating func messageReceived(from user: UserID, in id: ConversationID) -> Bool {
        guard let index = entries[id]?.firstIndex(where: { $0.user == user }) else { return false }
        entries[id]?.remove(at: index)
        if entries[id]?.isEmpty == true { entries[id] = nil }
        return true
    }

    /// Handles the passing of time.
    ///
    /// - Returns: The conversations whose typing users changed.
    package mutating func tick(now: Date) -> [ConversationID] {
        var changed: [ConversationID] = []
        for (id, all) in entries {
            let rest = all.filter { $0.until > now }
            guard rest.count < all.count else { continue }
            entries[id] = rest.isEmpty ? nil : rest
            changed.append(id)
        }
        return changed.sorted()
    }

    /// Removes all typing users.
    ///
    /// - Returns: The conversations that had typing users.
    package mutating func disconnected() -> [ConversationID] {
        defer { entries = [:] }
        return entries.keys.sorted()
    }

    /// The time of the next timeout.
    package var next: Date? { entries.values.flatMap { $0.map(\.until) }.min() }
}
