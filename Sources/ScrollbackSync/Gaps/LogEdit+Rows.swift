package import ScrollbackModel

extension LogEdit {
    /// Whether a row that was read takes the place of the one that is there.
    ///
    /// Of two readings of a message the one that more changes have touched is the newer, whichever comes last.
    package static func replaces(_ row: Message, _ held: Message?) -> Bool {
        guard let held else { return true }
        return row.rev > held.rev
    }

    /// Carries this out on rows held in memory, as a store does it in SQL.
    package func carryOut(on rows: inout [Seq: Message]) {
        if erasesEverything { rows = [:] }
        for range in erased {
            if range.count < rows.count {
                for seq in range { rows[seq] = nil }
            } else {
                rows = rows.filter { !range.contains($0.key) }
            }
        }
        for row in upserts where Self.replaces(row, rows[row.seq]) { rows[row.seq] = row }
    }
}
