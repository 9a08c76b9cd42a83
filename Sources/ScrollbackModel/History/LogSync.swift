/// An entry in the change log of a conversation: a change to stored messages.
///
/// Changes have no sequence number.
package enum LogChange: Hashable, Sendable {
    /// The current state of an edited or recalled message, with the revision of the change.
    case message(Message)
    /// A range of sequence numbers that was permanently deleted.
    case removed(SeqRange, rev: Int64)
    /// A change to something that this reader may not see.
    case invisible(rev: Int64)

    package var rev: Int64 {
        switch self {
        case .message(let message): message.rev
        case .removed(_, let rev), .invisible(let rev): rev
        }
    }
}

/// A device's position in one log, from which `sync` continues.
package struct LogPosition: Hashable, Sendable {
    package var conversation: ConversationID
    package var epoch: Epoch
    package var view: Int64
    /// The newest sequence number that the device knows.
    package var seq: Seq
    /// The newest revision that the device has applied.
    package var rev: Int64

    package init(conversation: ConversationID, epoch: Epoch, view: Int64, seq: Seq, rev: Int64) {
        self.conversation = conversation
        self.epoch = epoch
        self.view = view
        self.seq = seq
        self.rev = rev
    }
}

/// The answer of `sync` for one conversation.
package struct LogSync: Hashable, Sendable {
    /// The missed messages, as far as they fit.
    ///
    /// If more than 500 messages were missed, the page has the newest of them and a gap remains below.
    package var page: LogPage
    /// The changes after the position's `rev`, in order, at most 500.
    package var changes: [LogChange]
    /// The newest revision that the answer covers; it is lower than `page.state.rev` if more changes remain.
    package var changedThrough: Int64
    /// Whether the server no longer has changes that the device missed, so the device must load the log again.
    package var mustRefetch: Bool

    package init(page: LogPage, changes: [LogChange], changedThrough: Int64, mustRefetch: Bool) {
        self.page = page
        self.changes = changes
        self.changedThrough = changedThrough
        self.mustRefetch = mustRefetch
    }
}
