package import ScrollbackModel

extension ReadState {
    /// The log is known to have moved on, though not by which messages: what counts among them is in the running
    /// number.
    ///
    /// - Parameter since: what this device knows of the messages up to there already, by a page that came first.
    package mutating func advance(to seq: Seq, n: Int64, since: CountedSince = CountedSince()) {
        guard seq > computedAt.seq else { return }
        if seq > readSeq {
            unread += max(0, n - max(computedAt.n, pendingN ?? 0) - since.own)
            mentions += since.mentions
        }
        computedAt.seq = seq
        computedAt.n = n
    }
}
