/// A set of sequence numbers, stored as sorted ranges that neither overlap nor touch.
///
/// Gaps, deleted ranges and visible ranges are such sets. Each operation costs a binary search plus the ranges it
/// changes.
package struct SeqRangeSet: Hashable, Sendable {
    package private(set) var ranges: [SeqRange] = []

    package init() {}

    package init(_ ranges: some Sequence<SeqRange>) {
        for range in ranges { insert(range) }
    }

    package var isEmpty: Bool { ranges.isEmpty }
    package var lowest: Seq? { ranges.first?.lowerBound }
    package var highest: Seq? { ranges.last?.upperBound }
    package var count: Int64 { ranges.reduce(0) { $0 + $1.upperBound - $1.lowerBound + 1 } }

    package func contains(_ seq: Seq) -> Bool {
        let index = firstIndex(endingAtOrAbove: seq)
        return index < ranges.count && ranges[index].lowerBound <= seq
    }

    package func range(containing seq: Seq) -> SeqRange? {
        let index = firstIndex(endingAtOrAbove: seq)
        return index < ranges.count && ranges[index].lowerBound <= seq ? ranges[index] : nil
    }

    package func intersects(_ range: SeqRange) -> Bool {
        let index = firstIndex(endingAtOrAbove: range.lowerBound)
        return index < ranges.count && ranges[index].lowerBound <= range.upperBound
    }

    /// Returns the parts of the set inside `range`.
    package func clipped(to range: SeqRange) -> SeqRangeSet {
        var result = SeqRangeSet()
        var index = firstIndex(endingAtOrAbove: range.lowerBound)
        while index < ranges.count, let part = ranges[index].intersection(range) {
            result.ranges.append(part)
            index += 1
        }
        return result
    }

    /// Returns the parts of `range` that are not in the set.
    package func missing(in range: SeqRange) -> SeqRangeSet {
        var result = SeqRangeSet()
        result.ranges = [range]
        result.subtract(clipped(to: range))
        return result
    }

    /// Returns the highest range at or below `seq`, cut off at `seq`.
    package func last(atOrBelow seq: Seq) -> SeqRange? {
        let index = firstIndex(endingAtOrAbove: seq)
        if index < ranges.count, ranges[index].lowerBound <= seq { return ranges[index].lowerBound...seq }
        return index > 0 ? ranges[index - 1] : nil
    }

    /// Returns the lowest range at or above `seq`, cut off at `seq`.
    package func first(atOrAbove seq: Seq) -> SeqRange? {
        let index = firstIndex(endingAtOrAbove: seq)
        guard index < ranges.count else { return nil }
        return max(ranges[index].lowerBound, seq)...ranges[index].upperBound
    }

    package mutating func insert(_ range: SeqRange) {
        // Adjacent ranges are joined, so search one number further on both sides.
        let start = firstIndex(endingAtOrAbove: range.lowerBound == .min ? .min : range.lowerBound - 1)
        var end = start
        var joined = range
        while end < ranges.count, ranges[end].lowerBound <= (range.upperBound == .max ? .max : range.upperBound + 1) {
            joined =
                min(joined.lowerBound, ranges[end].lowerBound)...max(joined.upperBound, ranges[end].upperBound)
            end += 1
        }
        ranges.replaceSubrange(start..<end, with: CollectionOfOne(joined))
    }

    package mutating func remove(_ range: SeqRange) {
        let start = firstIndex(endingAtOrAbove: range.lowerBound)
        var end = start
        var kept: [SeqRange] = []
        while end < ranges.count, ranges[end].lowerBound <= range.upperBound {
            let old = ranges[end]
            if old.lowerBound < range.lowerBound { kept.append(old.lowerBound...(range.lowerBound - 1)) }
            if old.upperBound > range.upperBound { kept.append((range.upperBound + 1)...old.upperBound) }
            end += 1
        }
        ranges.replaceSubrange(start..<end, with: kept)
    }

    package mutating func formUnion(_ other: SeqRangeSet) {
        for range in other.ranges { insert(range) }
    }

    package mutating func subtract(_ other: SeqRangeSet) {
        for range in other.ranges { remove(range) }
    }

    private func firstIndex(endingAtOrAbove seq: Seq) -> Int {
        var low = 0
        var high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < seq { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
