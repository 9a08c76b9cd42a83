package import ScrollbackModel

/// The moves every event is made of. Each keeps rows, gaps and voids disjoint and complete.
extension LogState {
    /// Follows a newer head; what lies between is a gap until something fills it.
    mutating func extendHead(to seq: Seq, n: Int64) {
        guard seq > head else { return }
        gaps.insert(head + 1...seq)
        head = seq
        self.n = n
    }

    /// Forgets what lies below a new floor.
    mutating func raiseFloor(to seq: Seq, _ edit: inout LogEdit) {
        let floor = min(seq, head + 1)
        guard floor > firstSeq else { return }
        let below = firstSeq...floor - 1
        edit.erase(below)
        gaps.remove(below)
        voids.remove(below)
        firstSeq = floor
    }

    /// Follows head, floor and newest change of the same log; what is older than ours is left alone.
    mutating func follow(_ state: LogHead, _ edit: inout LogEdit) {
        extendHead(to: state.head, n: state.n)
        raiseFloor(to: state.firstSeq, &edit)
        latestRev = max(latestRev, state.rev)
    }

    /// Nothing will ever be seen there again.
    mutating func makeVoid(_ places: SeqRange, _ edit: inout LogEdit) {
        guard let places = range?.intersection(places) else { return }
        edit.erase(places)
        gaps.remove(places)
        voids.insert(places)
    }

    /// Takes a row and its own place out of the gaps.
    ///
    /// - Parameter rev: the change at which it was read.
    mutating func take(_ message: Message, readAt rev: Int64, _ edit: inout LogEdit) {
        let seq = message.seq
        guard let range, range.contains(seq), !voids.contains(seq) else { return }
        if gaps.contains(seq) {
            guard !isOutdated(message, readAt: rev) else { return }
            gaps.remove(seq...seq)
        }
        edit.upsert(message)
    }

    /// Whether a message is not here and was read too early to be taken: a change that this device heard nothing of may
    /// have touched it, and its place stays a gap until a page brings it as it is.
    package func isOutdated(_ message: Message, readAt rev: Int64) -> Bool {
        message.epoch == epoch && gaps.contains(message.seq) && message.seq <= baseline.seq && rev < baseline.rev
    }

    /// The last move of every event: see how far what was missed is replayed now.
    mutating func finish(_ edit: inout LogEdit) {
        replayed = (gaps.first(atOrAbove: replayed + 1)?.lowerBound ?? head + 1) - 1
        if isBehind { edit.needsSync = true }
    }
}
