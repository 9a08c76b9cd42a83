import ScrollbackModel

/// Random calls of a set of sequence numbers.
enum RecordedRangeSet {
    static func randomHistory(seed: UInt64) -> VectorHistory? {
        var random = VectorRandom(seed: seed)
        var set = SeqRangeSet()
        var history = VectorHistory("seqRangeSet", seed: seed)
        for _ in 0..<30 {
            let range = random.range(30)
            let other = SeqRangeSet((0..<random.below(4)).map { _ in random.range(30) })
            let call: String
            let arguments: VectorValue
            switch random.below(8) {
            case 0..<4:
                (call, arguments) = ("insert", ["range": range.vector])
                set.insert(range)
            case 4..<6:
                (call, arguments) = ("remove", ["range": range.vector])
                set.remove(range)
            case 6:
                (call, arguments) = ("formUnion", ["other": other.vector])
                set.formUnion(other)
            default:
                (call, arguments) = ("subtract", ["other": other.vector])
                set.subtract(other)
            }
            let seq = random.seq(36)
            history.record(
                call, arguments,
                state: [
                    "ranges": set.vector, "count": set.count.vector, "lowest": set.lowest.vector,
                    "highest": set.highest.vector, "seq": seq.vector, "contains": set.contains(seq).vector,
                    "rangeContaining": set.range(containing: seq).vector,
                    "lastAtOrBelow": set.last(atOrBelow: seq).vector,
                    "firstAtOrAbove": set.first(atOrAbove: seq).vector, "range": range.vector,
                    "intersects": set.intersects(range).vector, "clippedTo": set.clipped(to: range).vector,
                    "missingIn": set.missing(in: range).vector,
                ])
        }
        return history
    }
}
