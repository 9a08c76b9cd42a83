package import ScrollbackModel

extension LogState {
    /// Applies a single message: a live event, an acknowledged send, a last message, or a lookup by ID.
    ///
    /// - Parameter rev: The revision at which the message was read, if known; for a last message, the revision of its
    ///   head.
    package mutating func apply(message: Message, readAt rev: Int64 = 0) -> LogEdit {
        guard message.epoch == epoch else { return .stale(.epoch, needsSync: true) }
        var edit = LogEdit()
        applyExtendingHead(message, readAt: rev, &edit)
        finish(&edit)
        return edit
    }

    /// Applies a live change.
    ///
    /// The change of rows and ranges is applied immediately in any order. `rev` only advances to the next number, and
    /// `sync` delivers skipped changes.
    package mutating func apply(change: LogChange, in epoch: Epoch) -> LogEdit {
        guard epoch == self.epoch else { return .stale(.epoch, needsSync: true) }
        var edit = LogEdit()
        let isComplete = applyRows(of: change, &edit)
        latestRev = max(latestRev, change.rev)
        if isComplete, change.rev == rev + 1 { rev = change.rev }
        finish(&edit)
        return edit
    }

    /// Applies ranges that the user deleted for themselves.
    ///
    /// This is not a change of the log, so `rev` stays the same.
    package mutating func apply(hidden places: [SeqRange], in epoch: Epoch) -> LogEdit {
        guard epoch == self.epoch else { return .stale(.epoch, needsSync: true) }
        var edit = LogEdit()
        for range in places { markDeleted(range, &edit) }
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

    /// Applies a change to rows and ranges.
    ///
    /// - Returns: Whether the change was applied completely. A removal beyond the local head is not, because
    ///   `countedIndex` at its end is unknown.
    mutating func applyRows(of change: LogChange, _ edit: inout LogEdit) -> Bool {
        switch change {
        case .message(let message):
            applyExtendingHead(message, readAt: message.rev, &edit)
            return true
        case .removed(let places, _):
            markDeleted(places, &edit)
            return places.upperBound <= head
        case .invisible:
            return true
        }
    }

    /// Applies a row that may be above the local head.
    private mutating func applyExtendingHead(_ message: Message, readAt rev: Int64, _ edit: inout LogEdit) {
        extendHead(to: message.seq, countedIndex: message.countedIndex)
        latestRev = max(latestRev, message.rev)
        applyRow(message, readAt: max(rev, message.rev), &edit)
    }
}
