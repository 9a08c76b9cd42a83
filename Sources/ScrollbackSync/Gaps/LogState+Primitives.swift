package import ScrollbackModel

/// The primitive operations of all events; each keeps rows, gaps and deleted ranges disjoint and complete.
extension LogState {
    /// Advances the head; the range in between becomes a gap.
    mutating func extendHead(to seq: Seq, countedIndex: Int64) {
        guard seq > head else { return }
        gaps.insert(head + 1...seq)
        head = seq
        self.countedIndex = countedIndex
    }

    /// Deletes everything below a new retention floor.
    mutating func raiseFloor(to seq: Seq, _ edit: inout LogEdit) {
        let floor = min(seq, head + 1)
        guard floor > firstSeq else { return }
        let below = firstSeq...floor - 1
        edit.erase(below)
        gaps.remove(below)
        deletedRanges.remove(below)
        firstSeq = floor
    }

    /// Applies the head, retention floor and newest revision of the same log; lower values are ignored.
    mutating func applyHead(_ state: LogHead, _ edit: inout LogEdit) {
        extendHead(to: state.head, countedIndex: state.countedIndex)
        raiseFloor(to: state.firstSeq, &edit)
        latestRev = max(latestRev, state.rev)
    }

    /// Marks a range as permanently invisible.
    mutating func markDeleted(_ places: SeqRange, _ edit: inout LogEdit) {
        guard let places = range?.intersection(places) else { return }
        edit.erase(places)
        gaps.remove(places)
        deletedRanges.insert(places)
    }

    /// Applies a row and removes its sequence number from the gaps.
    ///
    /// - Parameter rev: The revision at which the row was read.
    mutating func applyRow(_ message: Message, readAt rev: Int64, _ edit: inout LogEdit) {
        let seq = message.seq
        guard let range, range.contains(seq), !deletedRanges.contains(seq) else { return }
        if gaps.contains(seq) {
            guard !isOutdated(message, readAt: rev) else { return }
            gaps.remove(seq...seq)
        }
        edit.upsert(message)
    }

    /// Returns whether a message is not stored and was read too early to be applied.
    ///
    /// The device may have missed a change of the message. Its sequence number stays a gap until a page delivers the
    /// current version.
    package func isOutdated(_ message: Message, readAt rev: Int64) -> Bool {
        message.epoch == epoch && gaps.contains(message.seq) && message.seq <= baseline.seq && rev < baseline.rev
    }

    /// Completes every event by computing how far missed messages are replayed.
    mutating func finish(_ edit: inout LogEdit) {
        replayed = (gaps.first(atOrAbove: replayed + 1)?.lowerBound ?? head + 1) - 1
        if isBehind { edit.needsSync = true }
    }
}
