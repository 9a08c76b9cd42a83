package import ScrollbackModel

extension LogState {
    /// Deletes the rows up to a sequence number from this device.
    ///
    /// Their sequence numbers become a gap, because the server still has the messages. The changes up to ``rev`` were
    /// applied to the deleted rows. A page that was read before these changes therefore can't fill the gap.
    package mutating func forget(through seq: Seq) -> LogEdit {
        var edit = LogEdit()
        guard seq >= firstSeq, let places = range?.intersection(firstSeq...seq) else { return edit }
        edit.erase(places)
        gaps.insert(places)
        gaps.subtract(deletedRanges.clipped(to: places))
        baseline = Baseline(seq: max(baseline.seq, places.upperBound), rev: max(baseline.rev, rev))
        return edit
    }
}
