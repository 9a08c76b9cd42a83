package import ScrollbackModel

extension LogState {
    /// Applies a page to the current gaps, regardless of how long the request took.
    package mutating func apply(page: LogPage) -> LogEdit {
        guard page.state.epoch == epoch else { return .stale(.epoch, needsSync: true) }
        guard page.state.view == view else { return .stale(.view, needsSync: true) }
        guard page.state.rev >= baseline.rev else { return .stale(.snapshot, needsSync: isBehind) }
        var edit = LogEdit()
        applyHead(page.state, &edit)
        fill(from: page, &edit)
        finish(&edit)
        return edit
    }

    /// Applies the rows of a page and, if it is unfiltered, its deleted ranges.
    ///
    /// A covered sequence number that is neither a row nor in a deleted range stays a gap. The scanned range of a
    /// filtered page does not affect gaps.
    mutating func fill(from page: LogPage, _ edit: inout LogEdit) {
        if !page.isFiltered, let covered = page.coverage.range {
            for places in page.coverage.deletedRanges.clipped(to: covered).ranges { markDeleted(places, &edit) }
        }
        for message in page.messages { applyRow(message, readAt: page.state.rev, &edit) }
    }
}
