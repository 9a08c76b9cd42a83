import ScrollbackModel

/// The corrections to an unread count, which is otherwise the difference of two counted indexes.
package struct UnreadAdjustment: Hashable, Sendable {
    /// Whether a message above the user's ``UnreadBase`` may mention the user or everyone.
    package var mayBeMentioned: Bool
    /// The counted indexes that don't count, by block: deleted for everyone, the user's own, and hidden by the user.
    private var uncounted: [Int64: BitBlock] = [:]

    package init(mayBeMentioned: Bool = false) {
        self.mayBeMentioned = mayBeMentioned
    }

    /// Adds a block of one of those sets.
    package mutating func add(_ block: BitBlock) {
        uncounted[block.index] = uncounted[block.index]?.union(block) ?? block
    }

    /// Returns how many of these counted indexes don't count; each is counted once.
    package func uncounted(among numbers: ClosedRange<Int64>) -> Int64 {
        uncounted.values.reduce(0) { $0 + $1.count(in: numbers) }
    }
}
