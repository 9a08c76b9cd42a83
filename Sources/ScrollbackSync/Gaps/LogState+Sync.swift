package import ScrollbackModel

extension LogState {
    /// Applies an answer to `sync`.
    ///
    /// - Parameter asked: The position in the request. An answer for a position above the current one would skip
    ///   changes.
    package mutating func apply(sync: LogSync, asked: LogPosition) -> LogEdit {
        guard asked.epoch == epoch, asked.view == view, asked.rev <= rev else {
            return .stale(.position, needsSync: true)
        }
        let state = sync.page.state
        var edit = LogEdit()
        if state.epoch != epoch {
            reset(to: state, &edit)
        } else {
            guard state.view >= view else { return .stale(.view, needsSync: true) }
            changeView(to: state)
            // Advance the head first, because a removal may lie above the local head.
            applyHead(state, &edit)
            catchUp(with: sync, &edit)
        }
        if state.rev >= baseline.rev {
            fill(from: sync.page, &edit)
            replayed = max(replayed, min(sync.page.coverage.upper, head))
        }
        finish(&edit)
        return edit
    }

    /// Applies the changes of an answer, or deletes all rows if the server no longer has the missed changes.
    private mutating func catchUp(with sync: LogSync, _ edit: inout LogEdit) {
        if sync.mustRefetch {
            refetch(at: sync.page.state.rev, &edit)
        } else {
            for change in sync.changes { _ = applyRows(of: change, &edit) }
            rev = max(rev, sync.changedThrough)
        }
    }

    /// Turns everything visible into gaps, because missed changes are no longer available.
    private mutating func refetch(at newest: Int64, _ edit: inout LogEdit) {
        guard rev < newest else { return }
        edit.eraseEverything()
        if let range { gaps = deletedRanges.missing(in: range) }
        baseline = Baseline(seq: head, rev: newest)
        rev = newest
    }
}
