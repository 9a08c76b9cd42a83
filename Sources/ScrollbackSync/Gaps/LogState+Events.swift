package import ScrollbackModel

extension LogState {
    /// Applies one message learned by itself: a live event, an acknowledged send, a last message, one looked up by id.
    ///
    /// - Parameter rev: the change at which it was read, where that is known: a last message's is its head's.
    package mutating func apply(message: Message, readAt rev: Int64 = 0) -> LogEdit {
        guard message.epoch == epoch else { return .stale(.epoch, needsSync: true) }
        var edit = LogEdit()
        takeMoved(message, readAt: rev, &edit)
        finish(&edit)
        return edit
    }

    /// Applies one change as it happens.
    ///
    /// Its row or range is taken at once whatever the order; `rev` moves only when it is the next one, and `sync`
    /// brings what lies between.
    package mutating func apply(change: LogChange, in epoch: Epoch) -> LogEdit {
        guard epoch == self.epoch else { return .stale(.epoch, needsSync: true) }
        var edit = LogEdit()
        let isWhole = takeRows(of: change, &edit)
        latestRev = max(latestRev, change.rev)
        if isWhole, change.rev == rev + 1 { rev = change.rev }
        finish(&edit)
        return edit
    }

    /// Applies what the user took out of their own view.
    ///
    /// It is no change of the log's: `rev` stays.
    package mutating func apply(hidden places: [SeqRange], in epoch: Epoch) -> LogEdit {
        guard epoch == self.epoch else { return .stale(.epoch, needsSync: true) }
        var edit = LogEdit()
        for range in places { makeVoid(range, &edit) }
        finish(&edit)
        return edit
    }

    /// Applies a live event.
    package mutating func apply(_ event: LiveEvent) -> LogEdit {
        switch event {
        case .message(let message): apply(message: message)
        case .changed(_, let epoch, let change): apply(change: change, in: epoch)
        case .head(_, let head, _, _): apply(head: head)
        case .hidden(_, let epoch, let places): apply(hidden: places, in: epoch)
        }
    }

    /// Does to rows and ranges what a change says.
    ///
    /// - Returns: whether that was all of it. A removal past our head is not: `n` at its end is unknown here.
    mutating func takeRows(of change: LogChange, _ edit: inout LogEdit) -> Bool {
        switch change {
        case .message(let message):
            takeMoved(message, readAt: message.rev, &edit)
            return true
        case .removed(let places, _):
            makeVoid(places, &edit)
            return places.upperBound <= head
        case .invisible:
            return true
        }
    }

    /// Takes a row that may lie above our head.
    private mutating func takeMoved(_ message: Message, readAt rev: Int64, _ edit: inout LogEdit) {
        extendHead(to: message.seq, n: message.n)
        latestRev = max(latestRev, message.rev)
        take(message, readAt: max(rev, message.rev), &edit)
    }
}
