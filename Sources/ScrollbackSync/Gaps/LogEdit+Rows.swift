package import ScrollbackModel

extension LogEdit {
    /// Returns whether a row replaces the stored row.
    ///
    /// Of two versions of a message, the one with the higher revision is newer, regardless of the order of arrival.
    package static func replaces(_ row: Message, _ held: Message?) -> Bool {
        guard let held else { return true }
        return row.rev > held.rev
    }

    /// Applies the edit to rows in memory, as a store applies it with SQL.
    package func apply(to rows: inout [Seq: Message]) {
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
