package import ScrollbackModel

/// Windows of a log, measured in visible sequence numbers; deleted ranges are not counted.
extension LogState {
    /// Returns the lower end of a window of `count` sequence numbers that ends at `upper`.
    ///
    /// If `count` is 0, returns the sequence number after `upper`.
    package func lowerEnd(of count: Int, through upper: Seq) -> Seq {
        var left = Int64(count)
        var top = min(upper, head)
        if left <= 0 { return max(firstSeq, top + 1) }
        while left > 0, top >= firstSeq {
            let deletedRange = deletedRanges.last(atOrBelow: top)
            let bottom = max(firstSeq, (deletedRange?.upperBound ?? 0) + 1)
            if top - bottom + 1 >= left { return top - left + 1 }
            left -= max(0, top - bottom + 1)
            guard let deletedRange else { break }
            top = deletedRange.lowerBound - 1
        }
        return firstSeq
    }

    /// Returns the upper end of a window of `count` sequence numbers that starts at `lower`.
    ///
    /// If `count` is 0, returns the sequence number before `lower`.
    package func upperEnd(of count: Int, from lower: Seq) -> Seq {
        var left = Int64(count)
        var bottom = max(lower, firstSeq)
        if left <= 0 { return min(head, bottom - 1) }
        while left > 0, bottom <= head {
            let deletedRange = deletedRanges.first(atOrAbove: bottom)
            let top = min(head, (deletedRange?.lowerBound ?? .max) - 1)
            if top - bottom + 1 >= left { return bottom + left - 1 }
            left -= max(0, top - bottom + 1)
            guard let deletedRange else { break }
            bottom = deletedRange.upperBound + 1
        }
        return head
    }
}
