package import ScrollbackModel

/// The primitive operations of all events; each keeps rows, gaps and deleted ranges disjoint and complete.
extension LogState {
    /// Advances the head; the range in between becomes a gap.
    mutating func extendHead(to seq: Seq, n: Int64) {
        guard seq > head else { return }
        gaps.insert(head + 1...seq)
        head = seq
        self.n = n
    }

    /// Deletes everything below a new retention floor.
    mutating func raiseFloor(to seq: Seq, _ edit: inout LogEdit) {
        let floor = min(seq, head + 1)
        guard floor > firstSeq else { return }
        let below = firstSeq...floor - 1
        edit.erase(below)
        gaps.remove(below)
        voids.remove(below)
        firstSeq = floor
    }

    /// Applies the head, retention floor and newest revision of the same log; lower values are ignored.
    mutating func follow(_ state: LogHead, _ edit: inout LogEdit) {
        extendHead(to: state.head, n: state.n)
        raiseFloor(to: state.firstSeq, &edit)
        latestRev = max(latestRev, state.rev)
    }

    /// Marks a range as permanently invisible.
    mutating func makeVoid(_ places: SeqRange, _ edit: inout LogEdit) {
        guard let places = range?.intersection(places) else { return }
        edit.erase(places)
        gaps.remove(places)
        voids.insert(places)
    }

    /// Applies a row and removes its sequence number from the gaps.
    ///
    /// - Parameter rev: The revision at which the row was read.
    mutating func take(_ message: Message, readAt rev: Int64, _ edit: inout LogEdit) {
        let seq = message.seq
        guard let range, range.contains(seq), !voids.contains(seq) else { return }
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
