package import ScrollbackModel

extension LogState {
    /// Applies a head from a window, an event or a page.
    ///
    /// A newer head opens a gap, and a higher retention floor deletes rows. Lower values are late and ignored. Another
    /// epoch discards the local log.
    package mutating func apply(head new: LogHead) -> LogEdit {
        var edit = LogEdit()
        guard new.epoch == epoch else {
            reset(to: new, &edit)
            // Epochs have no order. If this one is outdated, the answer to `sync` replaces it again.
            edit.needsSync = true
            return edit
        }
        guard new.view >= view else { return .stale(.view, needsSync: isBehind) }
        changeView(to: new)
        applyHead(new, &edit)
        finish(&edit)
        return edit
    }

    /// Replaces the state because the log has another epoch.
    mutating func reset(to head: LogHead, _ edit: inout LogEdit) {
        self = LogState(adopting: head)
        edit.eraseEverything()
    }

    /// Applies a new view of the reader.
    ///
    /// Deleted ranges, and numbers below the old floor, may be visible now and become gaps.
    mutating func changeView(to new: LogHead) {
        guard new.view > view else { return }
        view = new.view
        baseline = Baseline(seq: head, rev: max(rev, new.rev))
        gaps.formUnion(deletedRanges)
        deletedRanges = SeqRangeSet()
        if new.firstSeq < firstSeq {
            gaps.insert(new.firstSeq...firstSeq - 1)
            firstSeq = new.firstSeq
        }
    }
}
