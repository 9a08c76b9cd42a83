package import ScrollbackModel

/// 1,024 numbers next to each other, and which of them are in a set.
///
/// Sets of running numbers and of places are kept in such blocks, so that how many lie between two numbers is a few
/// hundred instructions for each thousand of them, whatever is in the set and in whichever order it came there.
package struct BitBlock: Hashable, Sendable {
    package static let width: Int64 = 1024

    /// Which block: it holds the numbers `index * 1024 ..< (index + 1) * 1024`.
    package let index: Int64
    package var words: SIMD16<UInt64>

    package init(index: Int64, words: SIMD16<UInt64> = .zero) {
        self.index = index
        self.words = words
    }

    package static func index(of number: Int64) -> Int64 { number / width }

    /// The numbers this block is about.
    package var range: ClosedRange<Int64> { (index * Self.width)...((index + 1) * Self.width - 1) }

    package var isEmpty: Bool { words == .zero }

    package func contains(_ number: Int64) -> Bool {
        let place = Int(number - range.lowerBound)
        return words[place / 64] & (1 << UInt64(place % 64)) != 0
    }

    /// Puts numbers into the set; those that are another block's are left out.
    package mutating func insert(_ numbers: ClosedRange<Int64>) {
        words |= Self.mask(numbers, in: range)
    }

    /// How many of these numbers are in the set.
    package func count(in numbers: ClosedRange<Int64>) -> Int64 {
        let found = words & Self.mask(numbers, in: range)
        return Int64(truncatingIfNeeded: found.nonzeroBitCount.wrappedSum())
    }

    /// The lowest number at or above `number` that is in this block and not in the set.
    package func firstMissing(atOrAbove number: Int64) -> Int64? {
        let free = ~words & Self.mask(max(number, range.lowerBound)...max(number, range.upperBound), in: range)
        for lane in 0..<16 where free[lane] != 0 {
            return range.lowerBound + Int64(lane * 64 + free[lane].trailingZeroBitCount)
        }
        return nil
    }

    package func union(_ other: BitBlock) -> BitBlock {
        BitBlock(index: index, words: words | other.words)
    }

    private static func mask(_ numbers: ClosedRange<Int64>, in range: ClosedRange<Int64>) -> SIMD16<UInt64> {
        guard numbers.overlaps(range) else { return .zero }
        let first = Int(max(numbers.lowerBound, range.lowerBound) - range.lowerBound)
        let last = Int(min(numbers.upperBound, range.upperBound) - range.lowerBound)
        var mask = SIMD16<UInt64>.zero
        for lane in (first / 64)...(last / 64) {
            var word = UInt64.max
            if lane == first / 64 { word &= .max << UInt64(first % 64) }
            if lane == last / 64 { word &= .max >> UInt64(63 - last % 64) }
            mask[lane] = word
        }
        return mask
    }
}

/// A set of numbers of one conversation, kept in blocks.
package enum BitSet: Hashable, Sendable {
    /// Running numbers of messages that nobody counts any more: recalled, or deleted for everyone.
    case removed
    /// Places of messages that were deleted one by one, whose stubs stay.
    case deleted
    /// Running numbers that one person does not count: their own messages, and what they deleted for themselves.
    case uncounted(UserID)
}

extension StoreReader {
    /// How many of these numbers are in a set.
    package func count(_ set: BitSet, in numbers: ClosedRange<Int64>, of conversation: Int64) throws -> Int64 {
        let blocks = BitBlock.index(of: numbers.lowerBound)...BitBlock.index(of: numbers.upperBound)
        return try bits(set, of: conversation, blocks: blocks).reduce(0) { $0 + $1.count(in: numbers) }
    }

    package func isIn(_ set: BitSet, _ number: Int64, of conversation: Int64) throws -> Bool {
        try count(set, in: number...number, of: conversation) > 0
    }
}

extension StoreWriter {
    /// Puts numbers into a set.
    package func insert(_ numbers: ClosedRange<Int64>, into set: BitSet, of conversation: Int64) throws {
        let blocks = BitBlock.index(of: numbers.lowerBound)...BitBlock.index(of: numbers.upperBound)
        let known = Dictionary(
            uniqueKeysWithValues: try bits(set, of: conversation, blocks: blocks).map { ($0.index, $0) })
        for index in blocks {
            var block = known[index] ?? BitBlock(index: index)
            let before = block
            block.insert(numbers)
            if block != before { try put(block, of: set, in: conversation) }
        }
    }
}
