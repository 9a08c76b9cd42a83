package import ScrollbackModel

extension LogState {
    /// Returns violations of the invariant.
    ///
    /// Rows, gaps and deleted ranges must be disjoint and together be exactly `firstSeq...head`.
    ///
    /// - Parameter rows: The sequence numbers of all rows in the store, in ascending order.
    package func violations(rows: some Collection<Seq>) -> [String] {
        var found: [String] = []
        func check(_ holds: Bool, _ violation: @autoclosure () -> String) {
            if !holds { found.append(violation()) }
        }
        check(firstSeq >= 1 && firstSeq <= head + 1, "firstSeq \(firstSeq) is not in 1...\(head + 1)")
        check((firstSeq - 1...max(head, firstSeq - 1)).contains(replayed), "replayed \(replayed) is outside the log")
        check(rev <= latestRev, "rev \(rev) is above the newest revision \(latestRev)")
        check(baseline.seq <= head, "the baseline \(baseline.seq) is above the head \(head)")
        for (name, places) in [("gap", gaps), ("deleted range", deletedRanges)] {
            for outside in places.ranges where outside.lowerBound < firstSeq || outside.upperBound > head {
                found.append("\(name) \(outside) is outside \(firstSeq)...\(head)")
            }
        }
        for both in gaps.ranges where deletedRanges.intersects(both) {
            found.append("gap \(both) contains deleted ranges")
        }
        var previous: Seq?
        for row in rows {
            check(row > previous ?? row - 1, "row \(row) comes after row \(previous ?? 0)")
            check(row >= firstSeq && row <= head, "row \(row) is outside \(firstSeq)...\(head)")
            check(!gaps.contains(row), "row \(row) is in a gap")
            check(!deletedRanges.contains(row), "row \(row) is in a deleted range")
            previous = row
        }
        let places = head - firstSeq + 1
        let known = Int64(rows.count) + gaps.count + deletedRanges.count
        check(
            known == places,
            "\(rows.count) rows, \(gaps.count) in gaps and \(deletedRanges.count) deleted don't cover \(places)"
        )
        return found
    }
}
