package import ScrollbackModel
import ScrollbackWire

/// The head of a log, for clients that receive the head but not every message.
package struct HeadAnnouncement: Sendable {
    package var epoch: Epoch
    package var seq: Seq
    package var countedIndex: Int64
    package var rev: Int64
    /// The oldest available sequence number, if it changed.
    package var firstSeq: Seq?
    /// The newest message that recents don't skip, if there is a new one.
    var last: Message?
    /// The message that changed.
    private var changed: Message?
    /// The range of messages that was removed.
    private var removed: SeqRange?
    /// Whether the change may have altered which messages count as unread.
    private var altersCounts = false

    init(epoch: Epoch, seq: Seq, countedIndex: Int64, rev: Int64, firstSeq: Seq?) {
        self.epoch = epoch
        self.seq = seq
        self.countedIndex = countedIndex
        self.rev = rev
        self.firstSeq = firstSeq
    }

    init(_ row: ConversationRow, generation: UInt64) {
        self.init(
            epoch: row.epoch(in: generation), seq: row.head, countedIndex: row.countedIndex, rev: row.rev,
            firstSeq: row.firstSeq > 1 ? row.firstSeq : nil)
    }

    func event(_ name: ConversationID) -> ServerEvent {
        .head(
            name,
            HeadUpdate(
                epoch: epoch, seq: seq, countedIndex: countedIndex, rev: rev, firstSeq: firstSeq, last: last,
                altersCounts: altersCounts))
    }

    /// The head without the message.
    var withoutMessage: HeadAnnouncement {
        var head = self
        head.last = nil
        return head
    }

    /// Returns the head after a change.
    func after(_ change: LogChange) -> HeadAnnouncement {
        var head = self
        switch change {
        case .removed(let places, _):
            head.altersCounts = true
            head.removed = places
        case .invisible: break
        case .message(let message):
            // Actions on a message without mentions alter no counts; an edit may have removed a mention.
            head.altersCounts =
                message.isDeleted || message.editedAt != nil || message.attributes.mentions != nil
            head.changed = message
        }
        return head
    }

    /// Merges a newer head into this one, without losing information that was not yet delivered.
    mutating func merge(_ newer: HeadAnnouncement) {
        guard newer.epoch == epoch else { return self = newer }
        var merged = newer
        merged.seq = max(seq, newer.seq)
        merged.countedIndex = max(countedIndex, newer.countedIndex)
        merged.rev = max(rev, newer.rev)
        merged.firstSeq = newer.firstSeq ?? firstSeq
        merged.last = newer.last ?? (newer.changed?.seq == last?.seq ? newer.changed : last)
        if let last = merged.last, newer.removed?.contains(last.seq) == true { merged.last = nil }
        merged.altersCounts = altersCounts || newer.altersCounts
        self = merged
    }

    init(_ message: Message) {
        epoch = message.epoch
        seq = message.seq
        countedIndex = message.countedIndex
        rev = message.rev
        if message.attributes.traits.bits & MessageTraits.skipsRecentsBit == 0 { last = message }
    }
}
