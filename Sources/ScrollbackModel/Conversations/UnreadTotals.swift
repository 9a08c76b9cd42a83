/// The unread totals of a list of conversations, as ``Recents`` or the server computes them.
///
/// Conversations that the user left or removed from the list are not included.
public struct UnreadTotals: Hashable, Sendable {
    /// The unread messages of unmuted conversations by kind; a kind without unread messages may be absent.
    package var unmuted: [ConversationKind: Int64] = [:]
    /// The unread messages of muted conversations by kind.
    package var muted: [ConversationKind: Int64] = [:]
    /// The number of unread messages that mention the user, in all conversations including muted ones.
    public package(set) var mentions: Int64 = 0

    package init() {}

    /// The number of unread messages in all conversations, including muted ones.
    public var unread: Int64 { unread(muted: false) + unread(muted: true) }

    /// Returns the number of unread messages in muted or in unmuted conversations.
    public func unread(muted isMuted: Bool) -> Int64 {
        (isMuted ? muted : unmuted).values.reduce(0, +)
    }

    /// Returns the number of unread messages in conversations of one kind, including muted ones.
    public func unread(of kind: ConversationKind) -> Int64 {
        (unmuted[kind] ?? 0) + (muted[kind] ?? 0)
    }

    package mutating func add(_ unread: Int64, mentions: Int64, kind: ConversationKind, isMuted: Bool) {
        self.mentions += mentions
        guard unread != 0 else { return }
        if isMuted { muted[kind, default: 0] += unread } else { unmuted[kind, default: 0] += unread }
    }

    /// Returns the sum of these totals and `other` multiplied by `factor`.
    package func adding(_ other: UnreadTotals, times factor: Int64 = 1) -> UnreadTotals {
        var sum = self
        sum.mentions += other.mentions * factor
        sum.unmuted.merge(other.unmuted.mapValues { $0 * factor }, uniquingKeysWith: +)
        sum.muted.merge(other.muted.mapValues { $0 * factor }, uniquingKeysWith: +)
        return sum
    }
}
