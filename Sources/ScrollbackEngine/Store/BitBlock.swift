package import ScrollbackModel

/// A block of a bit set: 1,024 consecutive numbers, and which of them are in the set.
///
/// Sets of counted indexes and of sequence numbers are stored in blocks. Counting the numbers in a range costs a few
/// hundred instructions per block, whatever the set contains.
package struct BitBlock: Hashable, Sendable {
    package static let width: Int64 = 1024

    /// The block's index: the block covers the numbers `index * 1024 ..< (index + 1) * 1024`.
    package let index: Int64
    package var words: SIMD16<UInt64>

    package init(index: Int64, words: SIMD16<UInt64> = .zero) {
        self.index = index
        self.words = words
    }

    package static func index(of number: Int64) -> Int64 { number / width }

    /// The numbers that the block covers.
    package var range: ClosedRange<Int64> { (index * Self.width)...((index + 1) * Self.width - 1) }

    package var isEmpty: Bool { words == .zero }

    package func contains(_ number: Int64) -> Bool {
        let place = Int(number - range.lowerBound)
        return words[place / 64] & (1 << UInt64(place % 64)) != 0
    }

    /// Inserts numbers into the set; numbers outside of this block are ignored.
    package mutating func insert(_ numbers: ClosedRange<Int64>) {
        words |= Self.mask(numbers, in: range)
    }

    /// Returns how many of these numbers are in the set.
    package func count(in numbers: ClosedRange<Int64>) -> Int64 {
        let found = words & Self.mask(numbers, in: range)
        return Int64(truncatingIfNeeded: found.nonzeroBitCount.wrappedSum())
    }

    /// Returns the lowest number at or above `number` that this block covers and that is not in the set.
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

    package func subtracting(_ other: BitBlock) -> BitBlock {
        BitBlock(index: index, words: words & ~other.words)
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

/// A set of numbers of one conversation, stored in blocks.
package enum BitSet: Hashable, Sendable {
    /// Counted indexes of messages deleted for everyone, which count for no user.
    case removed
    /// Sequence numbers of messages that were deleted individually, leaving tombstones.
    case deleted
    /// Counted indexes that don't count for one user: the user's own messages, and messages the user hid.
    case uncounted(UserID)
    /// Counted indexes of the replies in a thread that count as unread, also of deleted ones.
    case replies(MessageID)
}

extension StoreReader {
    /// Returns how many of these numbers are in a set.
    package func count(_ set: BitSet, in numbers: ClosedRange<Int64>, of conversation: Int64) throws -> Int64 {
        let blocks = BitBlock.index(of: numbers.lowerBound)...BitBlock.index(of: numbers.upperBound)
        return try bits(set, of: conversation, blocks: blocks).reduce(0) { $0 + $1.count(in: numbers) }
    }

    package func isIn(_ set: BitSet, _ number: Int64, of conversation: Int64) throws -> Bool {
        try count(set, in: number...number, of: conversation) > 0
    }
}

extension StoreWriter {
    /// Inserts numbers into a set.
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
