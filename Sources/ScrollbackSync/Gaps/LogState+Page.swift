package import ScrollbackModel

extension LogState {
    /// Applies a page, however long it was on its way, to the gaps as they are now.
    package mutating func apply(page: LogPage) -> LogEdit {
        guard page.state.epoch == epoch else { return .stale(.epoch, needsSync: true) }
        guard page.state.view == view else { return .stale(.view, needsSync: true) }
        guard page.state.rev >= baseline.rev else { return .stale(.snapshot, needsSync: isBehind) }
        var edit = LogEdit()
        follow(page.state, &edit)
        fill(from: page, &edit)
        finish(&edit)
        return edit
    }

    /// Takes a page's rows and, where it read everything, its voids out of the gaps.
    ///
    /// Nothing else is: a place that was covered but is neither row nor void stays a gap. What a filter scanned says
    /// nothing about gaps.
    mutating func fill(from page: LogPage, _ edit: inout LogEdit) {
        if !page.isFiltered, let covered = page.coverage.range {
            for places in page.coverage.voids.clipped(to: covered).ranges { makeVoid(places, &edit) }
        }
        for message in page.messages { take(message, readAt: page.state.rev, &edit) }
    }
}
