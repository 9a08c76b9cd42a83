package import ScrollbackModel

extension LogState {
    /// What is wrong with this log: nothing, as long as rows, gaps and voids are disjoint and exactly
    /// `firstSeq...head`.
    ///
    /// - Parameter rows: the places of all rows the store has, lowest first.
    package func violations(rows: some Collection<Seq>) -> [String] {
        var found: [String] = []
        func check(_ holds: Bool, _ violation: @autoclosure () -> String) {
            if !holds { found.append(violation()) }
        }
        check(firstSeq >= 1 && firstSeq <= head + 1, "firstSeq \(firstSeq) is not in 1...\(head + 1)")
        check((firstSeq - 1...max(head, firstSeq - 1)).contains(replayed), "replayed \(replayed) is outside the log")
        check(rev <= latestRev, "rev \(rev) is above the newest change \(latestRev)")
        check(baseline.seq <= head, "the baseline \(baseline.seq) is above the head \(head)")
        for (name, places) in [("gap", gaps), ("void", voids)] {
            for outside in places.ranges where outside.lowerBound < firstSeq || outside.upperBound > head {
                found.append("\(name) \(outside) is outside \(firstSeq)...\(head)")
            }
        }
        for both in gaps.ranges where voids.intersects(both) { found.append("gap \(both) has voids in it") }
        var previous: Seq?
        for row in rows {
            check(row > previous ?? row - 1, "row \(row) comes after row \(previous ?? 0)")
            check(row >= firstSeq && row <= head, "row \(row) is outside \(firstSeq)...\(head)")
            check(!gaps.contains(row), "row \(row) is in a gap")
            check(!voids.contains(row), "row \(row) is in a void")
            previous = row
        }
        let places = head - firstSeq + 1
        let known = Int64(rows.count) + gaps.count + voids.count
        check(
            known == places,
            "\(rows.count) rows, \(gaps.count) in gaps and \(voids.count) voids are not \(places) places")
        return found
    }
}
