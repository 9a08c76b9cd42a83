import Foundation
import ScrollbackModel
import Testing

@Suite("SeqRangeSet")
struct SeqRangeSetTests {
    @Test("Random operations give the same result as a plain set", arguments: 1...12)
    func operationsMatchAPlainSet(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var ranges = SeqRangeSet()
        var plain: Set<Seq> = []
        func randomRange() -> SeqRange {
            let lower = Seq(random.below(60)) + 1
            return lower...min(60, lower + Seq(random.below(random.chance(20) ? 40 : 6)))
        }
        for _ in 0..<400 {
            let range = randomRange()
            switch random.below(6) {
            case 0, 1, 2:
                ranges.insert(range)
                plain.formUnion(range)
            case 3:
                ranges.remove(range)
                plain.subtract(range)
            case 4:
                let other = SeqRangeSet((0..<random.below(4)).map { _ in randomRange() })
                ranges.formUnion(other)
                plain.formUnion(Self.places(of: other))
            default:
                let other = SeqRangeSet((0..<random.below(3)).map { _ in randomRange() })
                ranges.subtract(other)
                plain.subtract(Self.places(of: other))
            }
            let violation = Self.difference(
                ranges, plain, at: (0..<6).map { _ in Seq(random.below(62)) }, window: randomRange())
            #expect(violation == nil)
            if violation != nil { return }
        }
    }

    /// Returns the first difference from the plain set, or `nil`.
    private static func difference(
        _ ranges: SeqRangeSet, _ plain: Set<Seq>, at places: [Seq], window: SeqRange
    ) -> String? {
        for (a, b) in zip(ranges.ranges, ranges.ranges.dropFirst()) where a.upperBound + 1 >= b.lowerBound {
            return "\(a) and \(b) touch"
        }
        if Self.places(of: ranges) != plain { return "\(ranges.ranges) is not \(plain.sorted())" }
        if ranges.count != Int64(plain.count) { return "count \(ranges.count)" }
        if ranges.lowest != plain.min() || ranges.highest != plain.max() { return "ends" }
        if ranges.isEmpty != plain.isEmpty { return "isEmpty" }
        if SeqRangeSet(ranges.ranges.reversed()) != ranges { return "the result depends on the order of insertion" }
        for seq in places {
            if ranges.contains(seq) != plain.contains(seq) { return "contains(\(seq))" }
            let run = ranges.range(containing: seq)
            if (run != nil) != plain.contains(seq) { return "range(containing: \(seq))" }
            if let run {
                let isRun =
                    run.allSatisfy(plain.contains) && !plain.contains(run.lowerBound - 1)
                    && !plain.contains(run.upperBound + 1) && run.contains(seq)
                if !isRun { return "range(containing: \(seq)) is \(run)" }
            }
            let below = ranges.last(atOrBelow: seq)
            if below?.upperBound != plain.filter({ $0 <= seq }).max() { return "last(atOrBelow: \(seq))" }
            if let below, !below.allSatisfy(plain.contains) || plain.contains(below.lowerBound - 1) {
                return "last(atOrBelow: \(seq)) is \(below)"
            }
            let above = ranges.first(atOrAbove: seq)
            if above?.lowerBound != plain.filter({ $0 >= seq }).min() { return "first(atOrAbove: \(seq))" }
            if let above, !above.allSatisfy(plain.contains) || plain.contains(above.upperBound + 1) {
                return "first(atOrAbove: \(seq)) is \(above)"
            }
        }
        let inside = plain.filter(window.contains)
        if ranges.intersects(window) != !inside.isEmpty { return "intersects(\(window))" }
        if Self.places(of: ranges.clipped(to: window)) != inside { return "clipped(to: \(window))" }
        if Self.places(of: ranges.missing(in: window)) != Set(window).subtracting(inside) {
            return "missing(in: \(window))"
        }
        return nil
    }

    private static func places(of ranges: SeqRangeSet) -> Set<Seq> {
        ranges.ranges.reduce(into: []) { $0.formUnion($1) }
    }

    @Test("Ranges can contain the limits of Int64")
    func extremes() {
        var all = SeqRangeSet([.min ... .max])
        #expect(all.contains(.min) && all.contains(.max))
        all.insert(.min ... .min)
        all.insert(.max ... .max)
        #expect(all.ranges == [.min ... .max])
        all.remove(0...0)
        #expect(all.ranges == [.min ... -1, 1 ... .max])
        all.insert(0...0)
        #expect(all.ranges == [.min ... .max])
        all.remove(.min ... .max)
        #expect(all.isEmpty)
    }

    @Test("Adjacent ranges are merged")
    func adjacentRangesAreMerged() {
        #expect(SeqRangeSet([1...2, 3...4]).ranges == [1...4])
        #expect(SeqRangeSet([3...4, 1...2]).ranges == [1...4])
        #expect(SeqRangeSet([1...2, 4...5]).ranges == [1...2, 4...5])
        #expect(SeqRangeSet([1...2, 5...6, 3...4]).ranges == [1...6])
    }
}
