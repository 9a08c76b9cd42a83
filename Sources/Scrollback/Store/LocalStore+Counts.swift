import GRDB
import ScrollbackModel
import ScrollbackSync

/// Updates the unread counts in the same transaction as the log.
extension LocalWriter {
    /// A row that a change replaces.
    struct Replacement {
        var old: Message?
        var new: Message
    }

    /// Returns the rows that edits are about to replace, ignoring messages that were never changed.
    func replacements(in edits: [LogEdit], _ log: OpenLog) throws -> [Replacement] {
        guard let epoch = log.state?.epoch else { return [] }
        // An answer can contain a row twice: among its changes and in its page.
        let changed = Dictionary(
            edits.flatMap(\.upserts).filter { $0.rev > 0 }.map { ($0.seq, $0) },
            uniquingKeysWith: { $0.rev < $1.rev ? $1 : $0 })
        return try changed.values.compactMap { new in
            let old = try reader.message(at: new.seq, number: log.number, in: new.conversation, epoch: epoch)
            guard LogEdit.replaces(new, old) else { return nil }
            return Replacement(old: old, new: new)
        }
    }

    /// Updates the counts for an input, except for the advance of the head, which is counted at the end of the
    /// transaction.
    func count(
        _ input: LogInput, _ edits: [LogEdit], _ replaced: [Replacement], before: LogState?, in log: inout OpenLog
    ) throws {
        guard let state = log.state else { return }
        let known = try log.read ?? reader.readState(log.number)
        // The read state of another epoch does not apply.
        var read = known.flatMap { $0.epoch == state.epoch ? $0 : nil } ?? ReadState(of: state, before: input)
        if let before, before.epoch == state.epoch, state.view > before.view { read.viewChanged() }
        if case .head(let head) = input, head.state.firstSeq >= state.firstSeq || head.state.view > before?.view ?? 0 {
            read.apply(ReadSummary(head))
        }
        if case .live(.head(_, let head, _, altersCounts: false)) = input {
            let previous = before.flatMap { $0.epoch == state.epoch ? $0.latestRev : nil }
            read.advanceRevision(to: head.rev, after: previous ?? 0)
        }
        for row in replaced {
            try read.changed(
                row.new, replacing: row.old, reader: user, mayHaveSentLater: try mayHaveSentLater(row.new, log))
        }
        for (places, rev) in input.removals { read.erased(places, rev: rev) }
        if let before, before.epoch == state.epoch {
            if case .head = input {
            } else if state.firstSeq > before.firstSeq {
                read.erased(before.firstSeq...state.firstSeq - 1)
            }
            // After a refetch, it is unknown which of the skipped changes affected the counts.
            if edits.contains(where: \.erasesEverything) { read.erased(1...max(1, state.head), rev: state.rev) }
            for message in edits.flatMap(\.upserts) where before.gaps.contains(message.seq) {
                read.gapFilled(message, reader: user)
            }
            // Ranges that a page shows to be deleted were counted as unread before.
            if case .page(_, let page) = input, page.coverage.deletedRanges.intersects(read.knownThrough + 1...Seq.max)
            {
                for places in page.coverage.deletedRanges.clipped(to: read.knownThrough + 1...Seq.max).ranges {
                    read.erased(places)
                }
            }
        }
        log.read = read
    }

    /// Returns whether the user may have sent a message after the changed one, in stored messages or in a gap.
    private func mayHaveSentLater(_ message: Message, _ log: OpenLog) throws -> Bool {
        guard let head = log.state?.head else { return false }
        // There are too many messages to check: only the server knows.
        guard head - message.seq <= ReadState.countedMessages else { return true }
        return try Bool.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT EXISTS (SELECT 1 FROM message WHERE conversation = ?1 AND seq > ?2 AND sender = ?3)
                        OR EXISTS (SELECT 1 FROM gap WHERE conversation = ?1 AND upper > ?2)
                    """), arguments: [log.number, message.seq, user.text]) ?? false
    }

    /// Updates the counts to the log's state at the end of the transaction.
    ///
    /// - Returns: Whether the counts must be fetched from the server.
    func finishCounts(of log: inout OpenLog, in id: ConversationID) throws -> Bool {
        guard id.kind.traits.hasRecents, let state = log.state, var read = log.read else { return false }
        try updateCounts(&read, state, in: id, number: log.number)
        try save(read, number: log.number)
        log.savedRead = read
        // A sync that is still pending may make the counts exact, as may the answer to a pending read.
        let isComing = read.pendingReadSeq != nil || state.isBehind && id.kind.traits.replaysMissed
        return read.certainty != .exact && !isComing
    }
}

extension ReadState {
    /// Creates the read state of a log that `input` mentions for the first time.
    ///
    /// A message in the input is unread. Only the server knows how many earlier messages are.
    fileprivate init(of log: LogState, before input: LogInput) {
        let newest: Message?
        switch input {
        case .live(.message(let message)): newest = message
        case .live(.head(_, _, let last, _)): newest = last
        default: newest = nil
        }
        if let newest, newest.seq == log.head {
            self.init(
                unknownIn: log.epoch, countsAfter: newest.seq - 1,
                countedIndex: newest.countedIndex - (newest.countsUnread ? 1 : 0))
        } else {
            self.init(unknownIn: log.epoch, countsAfter: log.head, countedIndex: log.countedIndex)
        }
    }
}

extension LogInput {
    /// The ranges that the input removes, and the revision that removed them.
    fileprivate var removals: [(places: SeqRange, rev: Int64?)] {
        switch self {
        case .live(.changed(_, _, .removed(let places, let rev))): [(places, rev)]
        case .live(.hidden(_, _, let places)): places.map { ($0, nil) }
        case .sync(let sync, _):
            sync.changes.compactMap { change in
                if case .removed(let places, let rev) = change { return (places, rev) }
                return nil
            }
        default: []
        }
    }
}
