import ScrollbackModel

import ScrollbackSync

/// A client's stored copy of one conversation: the state of the log and the rows.
struct LogCopy {
    var state: LogState
    var rows: [Seq: Message] = [:]

    init(adopting head: LogHead) {
        state = LogState(adopting: head)
    }

    var violations: [String] { state.violations(rows: rows.keys.sorted()) }

    func text(_ seq: Seq) -> String? { rows[seq]?.text }
}

extension LogCopy {
    @discardableResult
    mutating func apply(_ event: (inout LogState) -> LogEdit) -> LogEdit {
        let edit = event(&state)
        edit.apply(to: &rows)
        return edit
    }

    @discardableResult mutating func apply(head: LogHead) -> LogEdit { apply { $0.apply(head: head) } }
    @discardableResult mutating func apply(page: LogPage) -> LogEdit { apply { $0.apply(page: page) } }

    @discardableResult
    mutating func apply(message: Message, readAt rev: Int64 = 0) -> LogEdit {
        apply { $0.apply(message: message, readAt: rev) }
    }

    @discardableResult
    mutating func apply(change: LogChange, in epoch: Epoch? = nil) -> LogEdit {
        apply { $0.apply(change: change, in: epoch ?? $0.epoch) }
    }

    @discardableResult
    mutating func apply(sync: LogSync, asked: LogPosition) -> LogEdit {
        apply { $0.apply(sync: sync, asked: asked) }
    }
}
