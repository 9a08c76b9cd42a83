/// One entry of a conversation's change log: what was done to messages after they were sent.
///
/// It takes no place in the log.
package enum LogChange: Hashable, Sendable {
    /// A message as it is now, edited or recalled; it carries the change's `rev`.
    case message(Message)
    /// A range of places that are gone for good.
    case removed(SeqRange, rev: Int64)
    /// A change to something this reader may not see.
    case invisible(rev: Int64)

    package var rev: Int64 {
        switch self {
        case .message(let message): message.rev
        case .removed(_, let rev), .invisible(let rev): rev
        }
    }
}

/// How far a device has come with one log; what `sync` asks from.
package struct LogPosition: Hashable, Sendable {
    package var conversation: ConversationID
    package var epoch: Epoch
    package var view: Int64
    /// The newest place the device knows of.
    package var seq: Seq
    /// The newest change it has applied.
    package var rev: Int64

    package init(conversation: ConversationID, epoch: Epoch, view: Int64, seq: Seq, rev: Int64) {
        self.conversation = conversation
        self.epoch = epoch
        self.view = view
        self.seq = seq
        self.rev = rev
    }
}

/// What `sync` answers for one conversation.
package struct LogSync: Hashable, Sendable {
    /// What was missed, as far as the answer had room; where it was more than 500 messages, the
    /// newest of them, and a gap stays below.
    package var page: LogPage
    /// The changes after the position's `rev`, in order, at most 500.
    package var changes: [LogChange]
    /// The newest change the answer speaks of; below `page.state.rev` where there are more to ask for.
    package var changedThrough: Int64
    /// Whether changes were forgotten that the device has not seen: what it has of this log must be fetched again.
    package var mustRefetch: Bool

    package init(page: LogPage, changes: [LogChange], changedThrough: Int64, mustRefetch: Bool) {
        self.page = page
        self.changes = changes
        self.changedThrough = changedThrough
        self.mustRefetch = mustRefetch
    }
}
