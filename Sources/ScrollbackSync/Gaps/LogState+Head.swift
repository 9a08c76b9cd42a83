package import ScrollbackModel

extension LogState {
    /// Applies a head that came in a window, in an event or with a page.
    ///
    /// A newer head opens a gap, a higher floor erases; what is lower than ours is late and ignored. Another epoch
    /// starts over.
    package mutating func apply(head new: LogHead) -> LogEdit {
        var edit = LogEdit()
        guard new.epoch == epoch else {
            startOver(with: new, &edit)
            // Epochs have no order: if this one was late and dead, the answer to `sync` starts over once more.
            edit.needsSync = true
            return edit
        }
        guard new.view >= view else { return .stale(.view, needsSync: isBehind) }
        changeView(to: new)
        follow(new, &edit)
        finish(&edit)
        return edit
    }

    /// Another log has taken this one's place.
    mutating func startOver(with head: LogHead, _ edit: inout LogEdit) {
        self = LogState(adopting: head)
        edit.eraseEverything()
    }

    /// What the reader may see has changed: what was void, or lay below the floor, is worth asking for again.
    mutating func changeView(to new: LogHead) {
        guard new.view > view else { return }
        view = new.view
        baseline = Baseline(seq: head, rev: max(rev, new.rev))
        gaps.formUnion(voids)
        voids = SeqRangeSet()
        if new.firstSeq < firstSeq {
            gaps.insert(new.firstSeq...firstSeq - 1)
            firstSeq = new.firstSeq
        }
    }
}
