import ScrollbackModel

/// What a user's unread messages in one conversation take besides the difference of two running numbers.
package struct UnevenCount: Hashable, Sendable {
    /// Whether a message above their position mentions them, or everyone.
    package var isMentioned: Bool
    /// What they do not count, by block: what is removed for everyone, their own, and what they deleted for themselves.
    private var uncounted: [Int64: BitBlock] = [:]

    package init(isMentioned: Bool = false) {
        self.isMentioned = isMentioned
    }

    /// Takes in a block of one of those sets.
    package mutating func add(_ block: BitBlock) {
        uncounted[block.index] = uncounted[block.index]?.union(block) ?? block
    }

    /// How many of these running numbers they do not count, each once.
    func uncounted(among numbers: ClosedRange<Int64>) -> Int64 {
        uncounted.values.reduce(0) { $0 + $1.count(in: numbers) }
    }
}
