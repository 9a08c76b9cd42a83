package import ScrollbackModel

extension LogState {
    /// Applies an answer to `sync`.
    ///
    /// - Parameter asked: the position it was asked from. An answer that starts above where we are would leave out
    ///   changes.
    package mutating func apply(sync: LogSync, asked: LogPosition) -> LogEdit {
        guard asked.epoch == epoch, asked.view == view, asked.rev <= rev else {
            return .stale(.position, needsSync: true)
        }
        let state = sync.page.state
        var edit = LogEdit()
        if state.epoch != epoch {
            startOver(with: state, &edit)
        } else {
            guard state.view >= view else { return .stale(.view, needsSync: true) }
            changeView(to: state)
            // The head first, so that a removal above ours finds its places.
            follow(state, &edit)
            catchUp(with: sync, &edit)
        }
        if state.rev >= baseline.rev {
            fill(from: sync.page, &edit)
            replayed = max(replayed, min(sync.page.coverage.upper, head))
        }
        finish(&edit)
        return edit
    }

    /// Applies the changes of an answer, or forgets every row where the server forgot changes.
    private mutating func catchUp(with sync: LogSync, _ edit: inout LogEdit) {
        if sync.mustRefetch {
            refetch(at: sync.page.state.rev, &edit)
        } else {
            for change in sync.changes { _ = takeRows(of: change, &edit) }
            rev = max(rev, sync.changedThrough)
        }
    }

    /// Changes were missed that nobody remembers: everything that may be seen is read again.
    private mutating func refetch(at newest: Int64, _ edit: inout LogEdit) {
        guard rev < newest else { return }
        edit.eraseEverything()
        if let range { gaps = voids.missing(in: range) }
        baseline = Baseline(seq: head, rev: newest)
        rev = newest
    }
}
