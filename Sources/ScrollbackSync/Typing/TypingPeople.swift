package import Foundation
package import ScrollbackModel

/// Who types in which conversation, as far as was heard lately.
package struct TypingPeople: Hashable, Sendable {
    private struct Entry: Hashable {
        var user: UserID
        var until: Date
    }

    /// How long, in seconds, somebody types who was not heard of again.
    package static let lifetime: TimeInterval = 6
    /// The most people of one conversation that are kept in mind.
    package static let most = 50

    private var entries: [ConversationID: [Entry]] = [:]

    package init() {}

    /// Who types there, first who began first.
    package func users(in id: ConversationID) -> [UserID] { (entries[id] ?? []).map(\.user) }

    /// The server said that somebody types, or has stopped.
    ///
    /// - Returns: whether that changes who types.
    package mutating func heard(_ user: UserID, in id: ConversationID, isTyping: Bool, now: Date) -> Bool {
        guard isTyping else { return said(by: user, in: id) }
        let until = now + Self.lifetime
        if let index = entries[id]?.firstIndex(where: { $0.user == user }) {
            entries[id]?[index].until = until
            return false
        }
        guard entries[id]?.count ?? 0 < Self.most else { return false }
        entries[id, default: []].append(Entry(user: user, until: until))
        return true
    }

    /// A message of somebody came: that is what they typed.
    ///
    /// - Returns: whether that changes who types.
    package mutating func said(by user: UserID, in id: ConversationID) -> Bool {
        guard let index = entries[id]?.firstIndex(where: { $0.user == user }) else { return false }
        entries[id]?.remove(at: index)
        if entries[id]?.isEmpty == true { entries[id] = nil }
        return true
    }

    /// Time has passed.
    ///
    /// - Returns: the conversations where somebody types no more.
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

    /// Nobody is heard of any more.
    ///
    /// - Returns: the conversations where somebody typed.
    package mutating func disconnected() -> [ConversationID] {
        defer { entries = [:] }
        return entries.keys.sorted()
    }

    /// When to look at the time again.
    package var next: Date? { entries.values.flatMap { $0.map(\.until) }.min() }
}
