/// What is unread in a whole list of conversations, as ``Recents`` or the server counts it.
///
/// Conversations that were taken out of the list, or that the user left, are not in it.
public struct UnreadTotals: Hashable, Sendable {
    /// By kind, of conversations that are not muted; kinds with nothing unread may be absent.
    package var notifying: [ConversationKind: Int64] = [:]
    /// By kind, of muted ones.
    package var muted: [ConversationKind: Int64] = [:]
    /// Unread messages that mention the user, in all conversations, muted ones too.
    public package(set) var mentions: Int64 = 0

    package init() {}

    /// Unread messages in all conversations, muted ones too (row 205).
    public var unread: Int64 { unread(muted: false) + unread(muted: true) }

    /// Unread messages in conversations that are muted, or in those that are not (row 207).
    public func unread(muted isMuted: Bool) -> Int64 {
        (isMuted ? muted : notifying).values.reduce(0, +)
    }

    /// Unread messages in conversations of one kind, muted ones too (row 206).
    public func unread(of kind: ConversationKind) -> Int64 {
        (notifying[kind] ?? 0) + (muted[kind] ?? 0)
    }

    package mutating func add(_ unread: Int64, mentions: Int64, kind: ConversationKind, isMuted: Bool) {
        self.mentions += mentions
        guard unread != 0 else { return }
        if isMuted { muted[kind, default: 0] += unread } else { notifying[kind, default: 0] += unread }
    }

    /// The sum with other totals, taken so many times.
    package func adding(_ other: UnreadTotals, times factor: Int64 = 1) -> UnreadTotals {
        var sum = self
        sum.mentions += other.mentions * factor
        sum.notifying.merge(other.notifying.mapValues { $0 * factor }, uniquingKeysWith: +)
        sum.muted.merge(other.muted.mapValues { $0 * factor }, uniquingKeysWith: +)
        return sum
    }
}
